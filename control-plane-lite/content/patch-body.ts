/** Bodies of PATCH: the patch type and its value. Source: patches, document 1 §4.2. */
import { StatusError } from '#api/meta/status-error.ts';
import { bareMediaType, unsupportedMediaType } from './negotiation.ts';
import { type BodyReaders, type ParsedBody, parseBody } from './parse-body.ts';

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply';

const PATCH_TYPES: ReadonlyMap<string, PatchType> = new Map<string, PatchType>([
  ['application/json-patch+json', 'json'],
  ['application/merge-patch+json', 'merge'],
  ['application/strategic-merge-patch+json', 'strategic'],
  ['application/apply-patch+yaml', 'apply'],
]);

/** `isCustom`: the merge keys of the kind's lists are unknown, so strategic merge patches are not supported.
 *  @throws StatusError UnsupportedMediaType */
export function patchTypeOf(contentType: string | undefined, isCustom: boolean): PatchType {
  const type = PATCH_TYPES.get(bareMediaType(contentType));
  if (type !== undefined && !(isCustom && type === 'strategic')) return type;
  const taken = [...PATCH_TYPES].filter(([, each]) => !isCustom || each !== 'strategic');
  throw unsupportedMediaType(taken.map(([name]) => name).join(', '));
}

/** @throws StatusError BadRequest */
export async function parsePatch(
  body: Buffer,
  type: PatchType,
  kind: string,
  readers: BodyReaders,
): Promise<ParsedBody> {
  const parsed = await parseBody(body, type === 'apply' ? 'yaml' : 'json', { apiVersion: '', kind }, readers);
  const { value } = parsed;
  const isList = Array.isArray(value);
  if (typeof value !== 'object' || value === null || isList !== (type === 'json')) {
    const wanted = type === 'json' ? 'a list of operations' : 'an object';
    throw new StatusError('BadRequest', `error decoding patch: must be ${wanted}`);
  }
  return parsed;
}
