/** Command lines of scripts and benchmarks: `--help` prints the usage, and an invalid argument one line that names it. */
import { asError } from '#api/kit/errno.ts';

const EXIT_USAGE = 2;

/** Returns the arguments that `parse` reads from the command line of this process. Ends the process instead if help is
 *  requested, or, with exit code 2, if `parse` throws.
 *  @param program the name in front of the error */
export function readArguments<T>(program: string, usage: string, parse: () => T): T {
  if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
    process.stdout.write(usage);
    return process.exit(0);
  }
  try {
    return parse();
  } catch (thrown) {
    // The parser of Node adds advice in further sentences.
    const [reason = ''] = asError(thrown).message.split('. ');
    process.stderr.write(`${program}: ${reason}; --help shows the usage\n`);
    return process.exit(EXIT_USAGE);
  }
}
