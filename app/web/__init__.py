"""The pages: thin routes over the services, templates, languages."""
