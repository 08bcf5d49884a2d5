/** Annotation with the deletion cost of a pod, by the gate PodDeletionCost. Pure. Source: upstream's validation of
 *  pods and its ReplicaSet controller, release 1.24. */
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject } from '../contract.ts';

const LARGEST = 2n ** 31n;

const costAnnotation = ({ domain }: Vocabulary): string => `controller.${domain}/pod-deletion-cost`;

/** Whole numbers of 32 bits, without a plus sign or leading zeros. */
function isCost(text: string): boolean {
  if (!/^-?(?:0|[1-9]\d{0,9})$/.test(text)) return false;
  const value = BigInt(text);
  return value >= -LARGEST && value < LARGEST;
}

/** Reports an error if the cost is no number, unless that of the old object is none either. */
export function validateDeletionCost(
  errors: FieldErrors,
  [object, old]: readonly [ApiObject, ApiObject | undefined],
  vocabulary: Vocabulary,
): void {
  const annotation = costAnnotation(vocabulary);
  const cost = object.metadata.annotations?.[annotation];
  if (cost === undefined || isCost(cost)) return;
  const before = old?.metadata.annotations?.[annotation];
  if (before !== undefined && !isCost(before)) return;
  errors.invalid(`metadata.annotations[${annotation}]`, cost, 'must be a 32bit integer');
}
