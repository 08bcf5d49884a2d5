/** Decodes large values in short steps, unless the objects would be too large to be stored. */
import { isObject } from '#api/kit/object.ts';
import type { Steps } from '#api/kit/steps.ts';
import { DecodedTooLong } from '#api/schema/decode.ts';
import type { DecodedObject, ObjectSchema, SteppedDecoding } from './contract.ts';
import { checkSizeSteps, objectTooLarge } from './object-size.ts';

/** @throws StatusError RequestEntityTooLarge */
export function* decodeLarge(
  schema: ObjectSchema,
  value: unknown,
  options: SteppedDecoding,
): Steps<DecodedObject> {
  if (schema.decodeInSteps === undefined) return schema.decode(value, options.known);
  // With the members that decoding and defaults will add.
  if (schema.protobufLength !== undefined && isObject(value)) {
    yield* checkSizeSteps(schema, value, { names: options.names });
    yield;
  }
  try {
    return yield* schema.decodeInSteps(value, options);
  } catch (thrown) {
    if (thrown instanceof DecodedTooLong) throw objectTooLarge(thrown);
    throw thrown;
  }
}
