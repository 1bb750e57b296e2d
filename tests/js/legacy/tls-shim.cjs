// documentdb 1.15 speaks only TLS 1.0 and has no way to trust a certificate of its
// own. Loaded before it (`node -r`), this lets its requests use today's TLS and
// accept the server's self-signed certificate.

"use strict";

const https = require("node:https");

const request = https.request;
https.request = function (options, callback) {
  if (options.secureProtocol === "TLSv1_client_method") {
    delete options.secureProtocol;
    options.rejectUnauthorized = false;
  }
  return request.call(https, options, callback);
};
