"""Pure ASGI middleware: what holds for every request, whatever the route."""
