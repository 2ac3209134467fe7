// A photo is made as small as it is shown, before it is sent. Without JavaScript, or where this fails, it is sent as it is.
const side = 512;
const field = document.querySelector('input[data-picture]');
field?.addEventListener('change', async () => {
  const [file] = field.files;
  if (!file) return;
  try {
    const image = await createImageBitmap(file);
    const scale = Math.min(1, side / Math.max(image.width, image.height));
    if (scale === 1 && file.size < 100_000) return;
    const canvas = document.createElement('canvas');
    canvas.width = Math.max(1, Math.round(image.width * scale));
    canvas.height = Math.max(1, Math.round(image.height * scale));
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    const type = file.type === 'image/jpeg' ? 'image/jpeg' : 'image/png';
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, type, 0.85));
    if (!blob || blob.size >= file.size || field.files[0] !== file) return;
    const small = new DataTransfer();
    small.items.add(new File([blob], file.name, { type: blob.type }));
    field.files = small.files;
  } catch {
    // The server says what is wrong with it.
  }
});
