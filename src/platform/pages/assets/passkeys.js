// The half of a passkey that takes a script: it fetches the options, lets the browser ask the user, and posts what
// comes of it as an ordinary form, so that every answer is an ordinary page. All words come from the page.
(() => {
  // `PublicKeyCredential.toJSON` and `parseRequestOptionsFromJSON` do the same, but not before Safari 18.4, and not for the
  // credentials that extensions of password managers make.
  const decode = (text) =>
    Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0));
  const encode = (bytes) =>
    btoa(Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join(''))
      .replaceAll('+', '-')
      .replaceAll('/', '_')
      .replaceAll('=', '');
  const parsed = (descriptors = []) => descriptors.map((one) => ({ ...one, id: decode(one.id) }));

  /** WebAuthn Level 3 §5.1.8 and §5.1.9, of the members that we send. */
  const parseOptions = ({ challenge, user, allowCredentials, excludeCredentials, ...rest }) => ({
    ...rest,
    challenge: decode(challenge),
    ...(user
      ? { user: { ...user, id: decode(user.id) }, excludeCredentials: parsed(excludeCredentials) }
      : { allowCredentials: parsed(allowCredentials) }),
  });

  /** WebAuthn Level 3 §5.1: `RegistrationResponseJSON` or `AuthenticationResponseJSON`. */
  function toJson(credential) {
    const { id, type, authenticatorAttachment, response } = credential;
    const members = ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle'];
    return {
      id,
      rawId: id,
      type,
      response: {
        ...Object.fromEntries(members.flatMap((name) => (response[name] ? [[name, encode(response[name])]] : []))),
        transports: response.getTransports?.(),
      },
      clientExtensionResults: credential.getClientExtensionResults(),
      authenticatorAttachment: authenticatorAttachment ?? undefined,
    };
  }

  /** A challenge lives for five minutes, a sign-in page may be open for longer. */
  const renewMs = 240_000;

  let isAsked = false;
  let ceremony;

  /** Starting one ceremony ends the one before: a browser runs one at a time. */
  async function perform(form, useBrowserAutofill) {
    const answer = await fetch(`${form.getAttribute('action')}/options`, { method: 'POST' });
    if (!answer.ok) return undefined;
    const options = await answer.json();
    // The button was pressed while the options for the autofill were on their way: its ceremony continues.
    if (useBrowserAutofill && isAsked) return undefined;
    ceremony?.abort();
    ceremony = new AbortController();
    const { signal } = ceremony;
    const asked = { publicKey: parseOptions(options), signal, ...(useBrowserAutofill && { mediation: 'conditional' }) };
    const { credentials } = navigator;
    return toJson(await (form.dataset.passkey === 'create' ? credentials.create(asked) : credentials.get(asked)));
  }

  /** Without a credential the server says what is wrong: that it takes a recent sign-in, say. */
  function send(form, credential) {
    form.elements.credential.value = credential ? JSON.stringify(credential) : '';
    form.submit();
  }

  const messageFor = ({ name }, { cancelled, known, failed }) =>
    ({ NotAllowedError: cancelled, InvalidStateError: known })[name] || failed;

  async function onSubmit(event) {
    event.preventDefault();
    const form = event.target;
    const [button, problem] = [form.querySelector('button'), form.querySelector('[role=alert]')];
    button.disabled = true;
    problem.hidden = true;
    isAsked = true;
    try {
      send(form, await perform(form, false));
    } catch (error) {
      isAsked = false;
      button.disabled = false;
      button.focus();
      problem.hidden = false;
      problem.textContent = messageFor(error, form.dataset);
      void offerInAutofill(form);
    }
  }

  let renewal;

  async function offerInAutofill(form) {
    if (!('autofill' in form.dataset) || !(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
    clearTimeout(renewal);
    renewal = setTimeout(() => whenSeen(() => offerInAutofill(form)), renewMs);
    try {
      const credential = await perform(form, true);
      if (credential) send(form, credential);
    } catch {} // The button took over, or there is nothing to offer: the page is as good as before.
  }

  const whenSeen = (then) =>
    document.hidden ? document.addEventListener('visibilitychange', then, { once: true }) : then();

  const supported = 'PublicKeyCredential' in globalThis;
  for (const without of document.querySelectorAll('[data-passkey-without]')) {
    without.hidden = supported;
    without.textContent = without.dataset.unsupported;
  }
  const field = document.querySelector('[name=able_device]');
  if (field && supported)
    void PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable().then((isAble) => {
      field.value = isAble ? '1' : '';
    });
  for (const form of supported ? document.querySelectorAll('form[data-passkey]') : []) {
    form.addEventListener('submit', onSubmit);
    form.hidden = false;
    void offerInAutofill(form);
  }
})();
