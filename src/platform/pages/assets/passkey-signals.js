// Says to the browser which passkeys are good here, so that it goes on offering no others (WebAuthn Level 3, Signal API). A browser
// that cannot listen, or does not want to, shows the page as it is.
for (const { dataset } of document.querySelectorAll('[data-passkey-signals]')) {
  for (const [name, options] of JSON.parse(dataset.passkeySignals)) {
    void globalThis.PublicKeyCredential?.[name]?.(options).catch(() => {});
  }
}
