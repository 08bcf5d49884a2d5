/** `nodeagent apply` */
import { type FieldError, formatFieldError } from '#api/meta/field-error.ts';
import { isPlainObject, listMember, readFieldErrors, textMember } from './answers.ts';
import { type Command, type CommandContext, defineCommand } from './command.ts';
import { UsageError } from './errors.ts';
import { type ManifestText, readManifests } from './manifest-files.ts';
import { printable } from './table.ts';

export const command: Command = defineCommand({
  name: 'apply',
  summary: 'Runs pods, and keeps configuration objects for them, from manifests. They survive a restart.',
  usage: ['-f FILE|DIRECTORY|- [options]'],
  options: {
    filename: {
      type: 'string',
      short: 'f',
      multiple: true,
      value: 'FILE',
      help: 'manifest, directory of them, or - for standard input; may be repeated',
    },
    recursive: { type: 'boolean', short: 'R', help: 'also directories within directories' },
  },
  examples: [
    ['apply -f web.yaml', 'one file; it may hold several documents'],
    ['apply -f - < web.yaml', 'from standard input'],
  ],
  async run(args, context) {
    const names = [...args.texts('filename'), ...args.positionals];
    if (args.texts('filename').length === 0) throw new UsageError('apply needs -f FILE');
    let allGood = true;
    for await (const manifest of readManifests(names, args.has('recursive'), context)) {
      allGood = (await applyText(manifest, context)) && allGood;
    }
    return allGood ? 0 : 1;
  },
});

interface ShownResult {
  readonly identity: string;
  readonly document: string;
  readonly outcome: string;
  readonly errors: readonly FieldError[];
}

/** @returns whether every document was taken */
async function applyText(
  { name, text }: ManifestText,
  { api, out, err, signal }: CommandContext,
): Promise<boolean> {
  const answer = await api.json({ method: 'POST', path: ['apply'], body: text, signal });
  const results = listMember(answer, 'results')
    .filter(isPlainObject)
    .map((result) => ({
      identity: textMember(result, 'identity'),
      document: textMember(result, 'document'),
      outcome: textMember(result, 'outcome'),
      errors: readFieldErrors(result['errors']),
    }));
  if (results.length === 0) {
    await err.write(`${printable(name)} holds no objects\n`);
    return false;
  }
  for (const result of results) {
    if (result.outcome === 'rejected') await err.write(formatRejection(name, result));
    else await out.write(`${shownIdentity(result.identity)} ${result.outcome}\n`);
  }
  return results.every(({ outcome }) => outcome !== 'rejected');
}

/** Every fault of a document on a line of its own. */
export function formatRejection(name: string, { identity, document, errors }: ShownResult): string {
  const lines = errors.map((error) => `  ${printable(formatFieldError(error))}\n`);
  return `${printable(`${name}, document ${document}: ${identity} rejected`)}\n${lines.join('')}`;
}

/** `pod/web` of `Pod default/web`; another namespace is told: `pod/web in shop`. */
export function shownIdentity(identity: string): string {
  const [kind = '', name = ''] = identity.split(' ');
  const parts = name.split('/');
  const last = parts.at(-1) ?? '';
  const namespace = parts.length > 1 ? parts[0] : undefined;
  const place = namespace === undefined || namespace === 'default' ? '' : ` in ${namespace}`;
  return printable(`${kind.toLowerCase()}/${last}${place}`);
}
