// The half of a passkey that takes a script: it fetches the options, lets the browser ask the user, and posts what
// comes of it as an ordinary form, so that every answer is an ordinary page. All words come from the page.
(() => {
  const { browserSupportsWebAuthn, browserSupportsWebAuthnAutofill, startAuthentication, startRegistration } =
    SimpleWebAuthnBrowser;
  /** A challenge lives for five minutes, a sign-in page may be open for longer. */
  const renewMs = 240_000;

  let isAsked = false;

  /** Starting one ceremony ends the one before: a browser runs one at a time. */
  async function perform(form, useBrowserAutofill) {
    const answer = await fetch(`${form.getAttribute('action')}/options`, { method: 'POST' });
    if (!answer.ok) return undefined;
    const optionsJSON = await answer.json();
    // The button was pressed while the options for the autofill were on their way: its ceremony continues.
    if (useBrowserAutofill && isAsked) return undefined;
    return form.dataset.passkey === 'create'
      ? startRegistration({ optionsJSON })
      : startAuthentication({ optionsJSON, useBrowserAutofill });
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
    if (!('autofill' in form.dataset) || !(await browserSupportsWebAuthnAutofill())) return;
    clearTimeout(renewal);
    renewal = setTimeout(() => whenSeen(() => offerInAutofill(form)), renewMs);
    try {
      const credential = await perform(form, true);
      if (credential) send(form, credential);
    } catch {} // The button took over, or there is nothing to offer: the page is as good as before.
  }

  const whenSeen = (then) =>
    document.hidden ? document.addEventListener('visibilitychange', then, { once: true }) : then();

  const supported = browserSupportsWebAuthn();
  for (const without of document.querySelectorAll('[data-passkey-without]')) {
    without.hidden = supported;
    without.textContent = without.dataset.unsupported;
  }
  for (const form of supported ? document.querySelectorAll('form[data-passkey]') : []) {
    form.addEventListener('submit', onSubmit);
    form.hidden = false;
    void offerInAutofill(form);
  }
})();
