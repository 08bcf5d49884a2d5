/** Applies one manifest text and reports every document. */
import { isObject } from '#api/kit/object.ts';
import { type FieldError, formatFieldError } from '#api/meta/field-error.ts';
import { listMember, readFieldErrors, textMember } from '../client/responses.ts';
import type { CommandContext } from '../command.ts';
import { printable } from '../views/table.ts';
import { type ObjectName, readObjects, vocabularyOf } from './objects.ts';
import type { ManifestText } from './read.ts';

/** `client` validates without the agent, `server` lets the agent check without changes. */
export type ApplyMode = 'apply' | 'client' | 'server';

export interface AppliedText {
  /** Every document was applied. */
  readonly allGood: boolean;
  readonly names: readonly ObjectName[];
}

interface ShownResult {
  readonly identity: string;
  readonly document: string;
  readonly outcome: string;
  readonly errors: readonly FieldError[];
}

/** @throws AgentUnreachableError, ApiError */
export async function applyText(
  manifest: ManifestText,
  mode: ApplyMode,
  context: CommandContext,
): Promise<AppliedText> {
  const { out, err, signal, clock } = context;
  const objects = await readObjects(manifest, vocabularyOf(undefined), { signal, nowMs: clock.now() });
  const names = objects.flatMap(({ name }) => name ?? []);
  const results =
    mode === 'client'
      ? objects.map(({ identity, document, errors }) => ({
          identity,
          document,
          errors,
          outcome: errors.length === 0 ? 'valid' : 'rejected',
        }))
      : await sendText(manifest.text, mode === 'server', context);
  if (results.length === 0) {
    await err.write(`${printable(manifest.name)} contains no objects\n`);
    return { allGood: false, names };
  }
  const note = mode === 'apply' ? '' : ` (${mode === 'server' ? 'server' : 'client'} dry run)`;
  for (const result of results) {
    if (result.outcome === 'rejected') await err.write(formatRejection(manifest.name, result));
    else await out.write(`${shownIdentity(result.identity)} ${result.outcome}${note}\n`);
  }
  return { allGood: results.every(({ outcome }) => outcome !== 'rejected'), names };
}

async function sendText(
  text: string,
  dryRun: boolean,
  { api, signal }: Pick<CommandContext, 'api' | 'signal'>,
): Promise<readonly ShownResult[]> {
  const query = dryRun ? { dryRun: 'true' } : {};
  const response = await api.json({ method: 'POST', path: ['apply'], query, body: text, signal });
  return listMember(response, 'results')
    .filter(isObject)
    .map((result) => ({
      identity: textMember(result, 'identity'),
      document: textMember(result, 'document'),
      outcome: textMember(result, 'outcome'),
      errors: readFieldErrors(result['errors']),
    }));
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
