import { commandLine } from './command-line.ts';

const args = process.argv.slice(2);
const serves = args[0] === 'serve';

// The reader may close the pipe, as `head` does; a server continues.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => serves || process.exit(code === 'EPIPE' ? 0 : 1));

const code = await commandLine(args, process);
if (code !== undefined) process.exitCode = code;
if (code && serves) process.exit(code); // what it has opened would keep the process running
