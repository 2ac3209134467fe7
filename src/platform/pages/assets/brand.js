// The preview follows what is typed, colours can be picked, and nothing typed is lost unasked. Without it, a button shows the preview.
(() => {
  const form = document.querySelector('#brand');
  const button = document.querySelector('#brand-preview');
  if (!form || !button) return;
  const waitMs = 400;
  let frame = document.querySelector('.stage iframe');
  let next;
  let count = 0;
  let due;

  function tell({ contentDocument }) {
    for (const element of form.querySelectorAll('[data-fact]')) {
      const fact = contentDocument?.querySelector(`meta[name="fact:${element.dataset.fact}"]`);
      if (fact) element.textContent = fact.content;
    }
    // What an empty field follows from others.
    for (const field of form.querySelectorAll('[data-colour]')) {
      const shown = contentDocument?.querySelector(`meta[name="fact:${field.name}:shown"]`);
      if (!shown || field.value) continue;
      field.placeholder = shown.content;
      field.nextElementSibling.value = shown.content;
    }
  }

  // Behind the one that is shown, so that nothing flickers, and each in a new frame, which leaves no entry in the history.
  function show() {
    if (!form.checkValidity()) return; // a color that is half typed; the button says what is wrong
    next?.remove();
    const loading = frame.cloneNode();
    loading.removeAttribute('src');
    count += 1;
    loading.name = `${frame.name.split(':')[0]}:${count}`;
    loading.hidden = true;
    frame.after(loading);
    next = loading;
    loading.addEventListener('load', () => {
      if (loading !== next || loading.contentDocument?.URL === 'about:blank') return;
      const { scrollY = 0 } = frame.contentWindow ?? {};
      frame.remove();
      loading.hidden = false;
      loading.contentWindow?.scrollTo(0, scrollY);
      frame = loading;
      next = undefined;
      tell(frame);
    });
    button.formTarget = loading.name;
    form.requestSubmit(button);
  }

  for (const field of form.querySelectorAll('[data-colour]')) {
    const picker = document.createElement('input');
    picker.type = 'color';
    picker.setAttribute('aria-label', field.dataset.colour);
    const follow = () => {
      const [, digits] = /^#?([0-9a-f]{6})$/i.exec(field.value.trim() || field.placeholder) ?? [];
      if (digits) picker.value = `#${digits.toLowerCase()}`;
    };
    follow();
    field.addEventListener('input', follow);
    picker.addEventListener('input', () => {
      field.value = picker.value;
    });
    field.after(picker);
  }

  form.addEventListener('input', () => {
    clearTimeout(due);
    due = setTimeout(show, waitMs);
  });
  if ('typed' in form.dataset) show();

  // It would be lost with the page, such as where a picture is uploaded before it is saved: the browser asks first.
  const ofPreview = ['subject', 'scheme', 'width', 'language', 'words_language'];
  let isUnsaved = 'typed' in form.dataset;
  form.addEventListener('input', ({ target }) => {
    if (!ofPreview.includes(target.name)) isUnsaved = true;
  });
  form.addEventListener('submit', ({ submitter }) => {
    if (submitter !== button) isUnsaved = false;
  });
  window.addEventListener('beforeunload', (event) => {
    if (isUnsaved) event.preventDefault();
  });
})();
