/** The object of an answer, from its bytes. Long lists are read in turns. */
import type { ApiProtobuf } from '#api/codec/api-protobuf.ts';
import { parseJsonInSteps } from '#api/codec/json-list.ts';
import { ProtobufError } from '#api/codec/protobuf/error.ts';
import { isObject, type JsonObject } from './object-fields.ts';
import { inTurns, type Turns } from './turns.ts';
import { isProtobufType } from './wire-form.ts';

/** An answer in protobuf that is none, or of a type that we don't know: JSON may do. */
export class AnswerFormatError extends Error {
  override readonly name = 'AnswerFormatError';
  readonly reason = 'BadAnswer';
  readonly retryable = true;
}

export interface AnswerBytes {
  readonly contentType: string | readonly string[] | undefined;
  readonly bytes: Buffer;
}

/** Undefined for what is no object in JSON.
 *  @throws AnswerFormatError for what was to be protobuf and is not */
export async function readAnswer(
  { contentType, bytes }: AnswerBytes,
  codec: ApiProtobuf | undefined,
  turns: Turns,
): Promise<JsonObject | undefined> {
  if (codec !== undefined && isProtobufType(contentType)) {
    try {
      return await inTurns(codec.decodeInSteps(bytes), turns);
    } catch (cause) {
      if (!(cause instanceof ProtobufError)) throw cause;
      throw new AnswerFormatError(`the server's answer could not be read as protobuf: ${cause.message}`, {
        cause,
      });
    }
  }
  try {
    const value = await inTurns(parseJsonInSteps(bytes), turns);
    return isObject(value) ? value : undefined;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}
