/** Decodes request bodies that contain options, such as DeleteOptions. */
import { formatFieldError } from '#api/meta/field-error.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { decode } from '#api/schema/decode.ts';
import { META_PACKAGE } from '#api/schema/registry.ts';
import type { Vocabulary } from '#api/vocabulary.ts';

/** Decodes options of a kind that all groups share; their `apiVersion` may be that of any group, or absent.
 *  @throws StatusError BadRequest */
export function readOptionsValue(
  value: unknown,
  kind: string,
  vocabulary: Vocabulary,
): Readonly<Record<string, unknown>> {
  const options = { vocabulary, missingFields: 'ignore', unknownFields: 'ignore' } as const;
  const decoded = decode<Readonly<Record<string, unknown>>>(`${META_PACKAGE}.${kind}`, value, options);
  const found = decoded.value['kind'] ?? kind;
  if (decoded.errors.length > 0) {
    const texts = decoded.errors.map(formatFieldError).join(', ');
    throw new StatusError('BadRequest', `${kind} cannot be read: ${texts}`);
  }
  if (found !== kind) {
    throw new StatusError('BadRequest', `decoded object cannot be converted to ${kind}`);
  }
  return decoded.value;
}
