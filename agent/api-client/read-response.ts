/** Decodes the object of a response. Yields to the event loop during long lists. */

import { parseJsonInSteps } from '#api/codec/json-list.ts';
import { ProtobufError } from '#api/codec/protobuf/error.ts';
import { isObject } from '#api/kit/object.ts';
import type { ApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import { type JsonObject } from './object-fields.ts';
import { inTurns, type Turns } from './turns.ts';
import { isProtobufType } from './wire-form.ts';

/** An undecodable protobuf response, or one of an unknown type: JSON may work. */
export class ResponseFormatError extends Error {
  override readonly name = 'ResponseFormatError';
  readonly reason = 'BadResponse';
  readonly retryable = true;
}

export interface ResponseBytes {
  readonly contentType: string | readonly string[] | undefined;
  readonly bytes: Buffer;
}

/** Returns undefined for JSON that is not an object.
 *  @throws ResponseFormatError for an undecodable protobuf response */
export async function readResponse(
  { contentType, bytes }: ResponseBytes,
  codec: ApiProtobuf | undefined,
  turns: Turns,
): Promise<JsonObject | undefined> {
  if (codec !== undefined && isProtobufType(contentType)) {
    try {
      return await inTurns(codec.decodeInSteps(bytes), turns);
    } catch (cause) {
      if (!(cause instanceof ProtobufError)) throw cause;
      throw new ResponseFormatError(
        `cannot decode the response of the server as protobuf: ${cause.message}`,
        {
          cause,
        },
      );
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
