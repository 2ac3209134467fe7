// Shows the offer of a passkey on devices that can have one. Without a script there is none to show.
void globalThis.PublicKeyCredential?.isUserVerifyingPlatformAuthenticatorAvailable().then((isAvailable) => {
  document.getElementById('passkey-offer').hidden = !isAvailable;
});
