/** Messages between the processes of a flood and their parent. */
import type { Target } from '../http-client.ts';

export interface Attempt {
  /** As latin1 text. */
  readonly request: string;
  /** Client certificate of a new connection for this request. Absent: one of the open connections. */
  readonly identity?: { readonly cert: string; readonly key: string };
}

export interface FloodOptions {
  readonly target: Target;
  /** What the connections send in turn, again and again. */
  readonly attempts: readonly Attempt[];
  readonly connections: number;
  /** Requests per second of all connections. Absent: each sends the next one once it has the response. */
  readonly perSecond?: number;
}

export type ToFlooder =
  | { readonly kind: 'open'; readonly options: FloodOptions }
  | { readonly kind: 'start' }
  | { readonly kind: 'stop' };

export interface FloodFigures {
  readonly sent: number;
  readonly seconds: number;
  /** Responses by status code. */
  readonly statuses: Readonly<Record<string, number>>;
}

export type FromFlooder =
  | { readonly kind: 'opened' }
  | { readonly kind: 'stopped'; readonly figures: FloodFigures }
  | { readonly kind: 'failed'; readonly message: string };

/** Input of the process of login services. */
export interface ToServices {
  readonly port: number;
  readonly cert: string;
  readonly key: string;
  readonly issuer: string;
  readonly jwks: object;
}
