/** Judge of responses: reports those that no request may cause. */
import type { Ask } from './requests.ts';
import { type HttpResponse, isStream } from './send.ts';

/** The server is a proxy for a backend that does not exist. */
const isPassage = ({ target }: Ask): boolean => /\/(proxy|log|exec|attach|portforward)\b/.test(target);

/** Body size in bytes above which a request can exceed the server's time limit on a busy machine. */
const LARGE_BODY_BYTES = 32 * 1024;

/** The client requested a short timeout, an unknown state, or too much. */
const isLate = ({ target, body }: Ask, { text }: HttpResponse): boolean =>
  text.includes('Too large resource version') ||
  /[?&]timeout(Seconds)?=/.test(target) ||
  (body?.length ?? 0) > LARGE_BODY_BYTES;

/** Reports whether this is upstream's own error for the scale of a custom resource without a replica count. */
const isWithoutScale = ({ target }: Ask, { text }: HttpResponse): boolean =>
  /\/scale\b/.test(target) && text.includes('replicas field');

function isAllowed(ask: Ask, response: HttpResponse): boolean {
  if (response.status < 500) return true;
  if (response.status === 500) return isWithoutScale(ask, response);
  if (response.status === 504) return isLate(ask, response);
  return (response.status === 502 || response.status === 503) && isPassage(ask);
}

interface StatusBody {
  readonly kind?: unknown;
  readonly apiVersion?: unknown;
  readonly status?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly reason?: unknown;
}

/** `undefined`: nothing to complain about. The text is the same for the same error. */
export function findError(ask: Ask, response: HttpResponse): string | undefined {
  const { status, contentType, text } = response;
  const where = `${ask.method} ${ask.headers.find(([name]) => name === 'Content-Type')?.[1] ?? ''}`;
  if (!isAllowed(ask, response)) return `${status} for ${where}`;
  if (status === 0 || status === 304 || ask.method === 'HEAD' || ask.raw !== undefined) return undefined;
  if (!contentType.startsWith('application/json') || isStream(ask)) return undefined;
  let body: StatusBody;
  try {
    body = JSON.parse(text) as StatusBody;
  } catch {
    return `${status} with a body that is no JSON for ${where}`;
  }
  if (status < 400) return undefined;
  const isStatus =
    body.kind === 'Status' &&
    body.apiVersion === 'v1' &&
    body.status === 'Failure' &&
    body.code === status &&
    typeof body.message === 'string' &&
    typeof body.reason === 'string';
  return isStatus ? undefined : `${status} without a Status for ${where}`;
}
