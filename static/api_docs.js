"use strict";
addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("api-docs");
  window.SwaggerUIBundle({
    url: place.dataset.openapi,
    domNode: place,
    deepLinking: true,
    validatorUrl: null,
    presets: [window.SwaggerUIBundle.presets.apis],
  });
});
