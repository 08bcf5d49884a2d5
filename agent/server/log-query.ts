/** Query parameters of a log request. Pure. */
import { StatusError } from '#api/meta/status-error.ts';
import { parseTime } from '#api/meta/time.ts';

export interface LogQuery {
  /** Empty means the pod's default container. */
  readonly container: string;
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines?: number;
  readonly sinceSeconds?: number;
  readonly sinceMs?: number;
  readonly limitBytes?: number;
}

/** @throws StatusError BadRequest naming the parameter */
export function parseLogQuery(container: string, query: URLSearchParams): LogQuery {
  const tailLines = wholeNumber(query, 'tailLines');
  const sinceSeconds = wholeNumber(query, 'sinceSeconds');
  const limitBytes = wholeNumber(query, 'limitBytes');
  const sinceTime = query.get('sinceTime');
  return {
    container: container === '-' ? '' : container,
    follow: query.get('follow') === 'true',
    previous: query.get('previous') === 'true',
    timestamps: query.get('timestamps') === 'true',
    ...(tailLines === undefined ? {} : { tailLines }),
    ...(sinceSeconds === undefined ? {} : { sinceSeconds }),
    ...(limitBytes === undefined ? {} : { limitBytes }),
    ...(sinceTime === null ? {} : { sinceMs: timeOf(sinceTime) }),
  };
}

function wholeNumber(query: URLSearchParams, key: string): number | undefined {
  const text = query.get(key);
  if (text === null) return undefined;
  if (!/^\d{1,15}$/.test(text))
    throw new StatusError('BadRequest', `${key}: ${JSON.stringify(text)} is not a whole number`);
  return Number(text);
}

function timeOf(text: string): number {
  try {
    return parseTime(text);
  } catch (cause) {
    throw new StatusError('BadRequest', `sinceTime: ${JSON.stringify(text)} is not an RFC 3339 time`, {
      cause,
    });
  }
}
