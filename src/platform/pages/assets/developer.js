// Comfort for the pages of developers. Without it a form says the same after it was sent, and texts are copied by hand.
(() => {
  const pauseMs = 400;

  for (const button of document.querySelectorAll('[data-copy]')) {
    if (!navigator.clipboard) continue;
    const label = button.textContent;
    const status = document.createElement('span');
    status.setAttribute('role', 'status');
    button.after(status);
    button.hidden = false;
    button.addEventListener('click', async () => {
      const source = document.getElementById(button.dataset.copy);
      await navigator.clipboard.writeText(source.value ?? source.textContent);
      status.textContent = button.dataset.copied;
      setTimeout(() => {
        status.textContent = '';
      }, 4000);
    });
    button.setAttribute('aria-label', `${label}: ${labelOf(button.dataset.copy)}`);
  }

  function labelOf(id) {
    const label =
      document.querySelector(`label[for="${id}"]`) ?? document.getElementById(id).closest('dd')?.previousElementSibling;
    return label?.textContent ?? '';
  }

  // A page that answers a form is shown again by sending the form again, and that would register once more.
  const answered = document.querySelector('[data-address]');
  if (answered) history.replaceState(null, '', answered.dataset.address);

  const form = document.querySelector('form[data-check]');
  if (!form) return;

  const namesOf = (kind) => [...new Set([...form.querySelectorAll(`[data-kind="${kind}"]`)].map(({ name }) => name))];
  const texts = namesOf('text');
  const lists = namesOf('lines');
  const objects = namesOf('json');
  const choices = namesOf('choice'); // on which depends what the others allow

  const linesOf = (text) =>
    text
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean);

  /** What has been typed so far: what is still empty is not wrong yet. */
  function draft() {
    const body = {};
    for (const name of [...texts, ...choices]) {
      const value = form.elements[name].value.trim();
      if (value) body[name] = value;
    }
    for (const name of lists) {
      const lines = linesOf(form.elements[name].value);
      if (lines.length > 0) body[name] = lines;
    }
    for (const name of objects) {
      const text = form.elements[name].value.trim();
      if (text) body[name] = parsed(text);
    }
    return body;
  }

  function parsed(text) {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }

  let latest = 0;

  async function check() {
    const body = draft();
    latest += 1;
    const mine = latest;
    const language = encodeURIComponent(document.documentElement.lang);
    const answer = await fetch(`${form.dataset.check}?ui_locales=${language}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).catch(() => undefined);
    if (!answer?.ok || mine !== latest) return; // the form itself will say what is wrong
    const { fields } = await answer.json();
    for (const name of [...texts, ...lists, ...objects, ...choices]) show(name, fields, body);
  }

  function show(name, fields, body) {
    const found = fields.filter(({ path }) => path === name || path.startsWith(`${name}/`));
    const box = document.getElementById(`${name}-problem`);
    if (!box) return; // the form sends it, and asks for it nowhere
    const entries = found.map(({ path, message }) => {
      const entry = document.createElement('li');
      const place = path.split('/')[1];
      if (place !== undefined) {
        const line = document.createElement('code');
        line.textContent = body[name][place];
        entry.append(line, ' ');
      }
      entry.append(message);
      return entry;
    });
    const list = box.querySelector('ul');
    const isNews =
      entries.map((entry) => entry.textContent).join() !== [...list.children].map((entry) => entry.textContent).join();
    if (isNews) list.replaceChildren(...entries);
    box.hidden = entries.length === 0;
    const folded = box.closest('details');
    if (isNews && entries.length > 0 && folded) folded.open = true;
    const field = document.getElementById(name); // a group of radio buttons has none
    if (entries.length > 0) field?.setAttribute('aria-invalid', 'true');
    else field?.removeAttribute('aria-invalid');
  }

  let pause;
  form.addEventListener('input', () => {
    clearTimeout(pause);
    pause = setTimeout(check, pauseMs);
  });
})();
