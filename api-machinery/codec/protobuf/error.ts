/** Error of the protobuf codec. */

/** `Truncated`: the bytes end inside a value. `Malformed`: they are no protobuf, or not of this message.
 *  `LimitExceeded`: nested too deep, too long or too many messages. `InvalidValue`: a value to be encoded
 *  is not of its field's type. `UnknownType`: the table has no such message. */
export type ProtobufErrorReason =
  | 'Truncated'
  | 'Malformed'
  | 'LimitExceeded'
  | 'InvalidValue'
  | 'UnknownType';

/** Bytes or a value that the protobuf codec rejects. */
export class ProtobufError extends Error {
  override readonly name = 'ProtobufError';
  readonly reason: ProtobufErrorReason;
  /** Path of the invalid field from the outermost message on: `config.mounts[2].hostPath`; empty if none is. */
  readonly path: string;
  readonly #error: string;

  constructor(reason: ProtobufErrorReason, error: string, path = '') {
    super(path === '' ? error : `${path}: ${error}`);
    this.reason = reason;
    this.path = path;
    this.#error = error;
  }

  /** Returns the same error with the path of the enclosing message. */
  within(field: string): ProtobufError {
    const joined =
      this.path === '' || this.path.startsWith('[') ? field + this.path : `${field}.${this.path}`;
    return new ProtobufError(this.reason, this.#error, joined);
  }
}

/** Returns `thrown` with `field` prepended to its path; anything but a ProtobufError is returned unchanged. */
export function withinField(thrown: unknown, field: string): unknown {
  return thrown instanceof ProtobufError ? thrown.within(field) : thrown;
}
