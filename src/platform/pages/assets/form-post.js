// Sends the answer to the client without a click; without it there is the button.
document.getElementById('form-post')?.submit();
