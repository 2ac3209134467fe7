// Comfort for password fields. Without it they hide what is typed, and the server alone counts it.
for (const button of document.querySelectorAll('[data-reveal]')) {
  const input = document.getElementById(button.dataset.reveal);
  const reveal = (isShown) => {
    input.type = isShown ? 'text' : 'password';
    button.setAttribute('aria-pressed', String(isShown));
  };
  button.addEventListener('click', () => {
    reveal(input.type === 'password');
    input.focus();
  });
  // A browser offers to save what was sent as a password, and keeps what was sent as a text.
  input.form.addEventListener('submit', () => reveal(false));
  button.hidden = false;
}

for (const count of document.querySelectorAll('[data-count]')) {
  const input = document.getElementById(count.dataset.count);
  const { min, short, enough } = count.dataset;
  const update = () => {
    const length = [...input.value.normalize('NFC')].length;
    count.hidden = length === 0;
    count.textContent = length < Number(min) ? short.replace('{count}', String(length)) : enough;
  };
  input.addEventListener('input', update);
  update();
}
