#!/usr/bin/env node
/** Entry point of the program `control-plane-lite`: runs or installs the server, copies its store, or sends
 *  commands to the running server. */
import { ConfigError, createParser, parseConfig } from './config/parse.ts';

async function main(argv: readonly string[]): Promise<number> {
  const [command = ''] = argv;
  if (argv.includes('--help') || argv.includes('-h')) {
    const { commandHelp } = await import('./commands/help.ts');
    process.stdout.write(`${commandHelp(command) ?? (await createParser([]).getHelp())}\n`);
    return 0;
  }
  if (command === 'version' || argv.includes('--version')) {
    const { versionLine } = await import('./commands/version.ts');
    process.stdout.write(`${versionLine()}\n`);
    return 0;
  }
  try {
    if (command === 'backup' || command === 'restore') {
      const { runStoreCommand } = await import('./commands/store-command.ts');
      return await runStoreCommand(command, argv.slice(1), (line) => process.stdout.write(`${line}\n`));
    }
    if (command === 'install' || command === 'uninstall') {
      const { runInstallCommand } = await import('./commands/install-command.ts');
      return await runInstallCommand(command, argv.slice(1), (line) => process.stdout.write(`${line}\n`));
    }
    if (command === 'token' || command === 'csr') {
      const { runServerCommand } = await import('./commands/run-command.ts');
      return await runServerCommand(command, argv.slice(1), (line) => process.stdout.write(`${line}\n`));
    }
    if (command === 'certificates') {
      const { runCertificatesCommand } = await import('./commands/certificates.ts');
      return await runCertificatesCommand(argv.slice(1), Date.now(), (text) =>
        process.stdout.write(`${text}\n`),
      );
    }
    const config = parseConfig(argv);
    const { runServer } = await import('./run.ts');
    return await runServer(config, {
      ...signals(),
      announce: (line) => process.stdout.write(`${line}\n`),
      complain: (line) => process.stderr.write(`${line}\n`),
    });
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    for (const problem of thrown.problems) process.stderr.write(`control-plane-lite: ${problem}\n`);
    return 1;
  }
}

/** The first signal requests a graceful stop, the second an immediate one. */
function signals(): { readonly signal: AbortSignal; readonly hurry: AbortSignal } {
  const stop = new AbortController();
  const hurry = new AbortController();
  const onSignal = (): void => {
    if (stop.signal.aborted) hurry.abort(new Error('a second stop signal was received'));
    stop.abort(new Error('a stop signal was received'));
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return { signal: stop.signal, hurry: hurry.signal };
}

process.exit(await main(process.argv.slice(2)));
