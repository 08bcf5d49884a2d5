/** `nodeagent apply` */
import { isObject } from '#api/kit/object.ts';
import { type FieldError, formatFieldError } from '#api/meta/field-error.ts';
import { listMember, readFieldErrors, textMember } from '../client/responses.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { printable } from '../views/table.ts';
import { type ManifestText, readManifests } from './manifest-files.ts';

export const command: Command = defineCommand({
  name: 'apply',
  summary:
    'Creates or updates pods and configuration objects from manifests. They persist across restarts of the agent.',
  usage: ['-f FILE|DIRECTORY|- [options]'],
  options: {
    filename: {
      type: 'string',
      short: 'f',
      multiple: true,
      value: 'FILE',
      help: 'manifest file, directory, or - for standard input; may be repeated',
    },
    recursive: { type: 'boolean', short: 'R', help: 'process directories recursively' },
  },
  examples: [
    ['apply -f web.yaml', 'one file, with one or more documents'],
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

/** @returns whether every document was applied */
async function applyText(
  { name, text }: ManifestText,
  { api, out, err, signal }: CommandContext,
): Promise<boolean> {
  const response = await api.json({ method: 'POST', path: ['apply'], body: text, signal });
  const results = listMember(response, 'results')
    .filter(isObject)
    .map((result) => ({
      identity: textMember(result, 'identity'),
      document: textMember(result, 'document'),
      outcome: textMember(result, 'outcome'),
      errors: readFieldErrors(result['errors']),
    }));
  if (results.length === 0) {
    await err.write(`${printable(name)} contains no objects\n`);
    return false;
  }
  for (const result of results) {
    if (result.outcome === 'rejected') await err.write(formatRejection(name, result));
    else await out.write(`${shownIdentity(result.identity)} ${result.outcome}\n`);
  }
  return results.every(({ outcome }) => outcome !== 'rejected');
}

/** Formats each error of a document on its own line. */
export function formatRejection(name: string, { identity, document, errors }: ShownResult): string {
  const lines = errors.map((error) => `  ${printable(formatFieldError(error))}\n`);
  return `${printable(`${name}, document ${document}: ${identity} rejected`)}\n${lines.join('')}`;
}

/** Formats `Pod default/web` as `pod/web`; appends other namespaces: `pod/web in shop`. */
export function shownIdentity(identity: string): string {
  const [kind = '', name = ''] = identity.split(' ');
  const parts = name.split('/');
  const last = parts.at(-1) ?? '';
  const namespace = parts.length > 1 ? parts[0] : undefined;
  const place = namespace === undefined || namespace === 'default' ? '' : ` in ${namespace}`;
  return printable(`${kind.toLowerCase()}/${last}${place}`);
}
