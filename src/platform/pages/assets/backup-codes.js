// Comfort for the page that shows new backup codes; without it they are a list to copy by hand.
const list = document.getElementById('backup-codes');
const actions = document.getElementById('backup-codes-actions');
const text = () => `${[...list.querySelectorAll('code')].map((code) => code.textContent).join('\n')}\n`;

const perform = {
  async copy() {
    await navigator.clipboard.writeText(text());
    const status = actions.querySelector('[role="status"]');
    status.textContent = status.dataset.copied;
  },
  download() {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text()], { type: 'text/plain' }));
    link.download = list.dataset.file;
    link.click();
    URL.revokeObjectURL(link.href);
  },
  print() {
    window.print();
  },
};

if (list && actions) {
  actions.hidden = false;
  for (const button of actions.querySelectorAll('button')) {
    const action = button.dataset.action;
    if (action === 'copy' && !navigator.clipboard) button.remove();
    button.addEventListener('click', () => perform[action]());
  }
}
