// An invitation comes behind the # of its address, so that no server or proxy writes it down.
"use strict";
(() => {
  const code = location.hash.slice(1);
  if (!/^rvi_\w+/.test(code)) return;
  const field = document.querySelector("[name=code]");
  field.value = code;
  field.closest("details").open = true;
  document.querySelector("[name=name]").focus();
  history.replaceState(null, "", location.pathname);
})();
