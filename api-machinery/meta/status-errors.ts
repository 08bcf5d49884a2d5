/** Common API errors, with the messages that upstream's clients match on. Pure. */
import { type FieldError, formatFieldError } from './field-error.ts';
import { StatusError } from './status-error.ts';

/** Subject of an error: a resource (`pods`, in errors about lookups) or a kind (`Pod`, in errors about
 *  content). */
export interface Subject {
  /** `''` for the core group. */
  readonly group: string;
  readonly name: string;
}

const qualified = ({ group, name }: Subject): string => (group === '' ? name : `${name}.${group}`);
const detailsOf = (subject: Subject, name: string): { name?: string; group?: string; kind: string } => ({
  ...(name === '' ? {} : { name }),
  ...(subject.group === '' ? {} : { group: subject.group }),
  kind: subject.name,
});

export function notFound(resource: Subject, name: string): StatusError {
  return new StatusError('NotFound', `${qualified(resource)} ${JSON.stringify(name)} not found`, {
    details: detailsOf(resource, name),
  });
}

export function alreadyExists(resource: Subject, name: string): StatusError {
  return new StatusError('AlreadyExists', `${qualified(resource)} ${JSON.stringify(name)} already exists`, {
    details: detailsOf(resource, name),
  });
}

export function conflict(resource: Subject, name: string, why: string): StatusError {
  const message = `Operation cannot be fulfilled on ${qualified(resource)} ${JSON.stringify(name)}: ${why}`;
  return new StatusError('Conflict', message, { details: detailsOf(resource, name) });
}

/** Error for an object that changed since it was read. */
export function objectModified(resource: Subject, name: string): StatusError {
  return conflict(
    resource,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  );
}

export function invalid(kind: Subject, name: string, errors: readonly FieldError[]): StatusError {
  const texts = errors.map(formatFieldError);
  const list = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  return new StatusError('Invalid', `${qualified(kind)} ${JSON.stringify(name)} is invalid: ${list}`, {
    errors,
    details: detailsOf(kind, name),
  });
}

export function forbidden(resource: Subject, name: string, why: string): StatusError {
  const named = name === '' ? '' : ` ${JSON.stringify(name)}`;
  return new StatusError('Forbidden', `${qualified(resource)}${named} is forbidden: ${why}`, {
    details: detailsOf(resource, name),
  });
}

export function methodNotSupported(resource: Subject, action: string): StatusError {
  return new StatusError(
    'MethodNotAllowed',
    `${action} is not supported on resources of kind "${qualified(resource)}"`,
    {
      details: detailsOf(resource, ''),
    },
  );
}

/** Error for a future revision that was not reached in time. */
export function tooLargeResourceVersion(requested: number, newest: number): StatusError {
  return new StatusError('Timeout', `Too large resource version: ${requested}, current: ${newest}`, {
    details: { retryAfterSeconds: 1 },
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
  });
}

export function expired(message: string): StatusError {
  return new StatusError('Expired', message);
}

export function tooManyRequests(message: string, retryAfterSeconds: number): StatusError {
  return new StatusError('TooManyRequests', message, { details: { retryAfterSeconds } });
}
