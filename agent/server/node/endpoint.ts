/** What the agent's server answers with, and to what. */

export interface NodeRequest {
  readonly method: string;
  /** Decoded parts of the path behind the endpoint's own name. */
  readonly rest: readonly string[];
  /** The path ends with a slash. */
  readonly endsInSlash: boolean;
  readonly query: URLSearchParams;
  /** The client wants to change the protocol. */
  readonly isUpgrade: boolean;
  /** What the client sends, as text. @throws StatusError for more than a little */
  readonly body: () => Promise<string>;
  /** Fires when the client has gone. */
  readonly signal: AbortSignal;
}

export type NodeAnswer =
  | { readonly kind: 'text'; readonly text: string; readonly contentType?: string; readonly status?: number }
  | { readonly kind: 'json'; readonly value: unknown }
  | {
      readonly kind: 'stream';
      readonly chunks: AsyncIterable<Uint8Array>;
      readonly contentType: string;
    }
  /** The client's connection goes to this address of the runtime. */
  | { readonly kind: 'passage'; readonly url: string };

export interface NodeEndpoint {
  /** First part of the path; `/` parts it from what follows. */
  readonly name: string;
  readonly methods: readonly string[];
  readonly handle: (request: NodeRequest) => Promise<NodeAnswer> | NodeAnswer;
}

export const text = (value: string, status = 200): NodeAnswer => ({ kind: 'text', text: value, status });

/** The endpoint with the longest name that the path begins with, and the parts that follow.
 *  @param parts decoded parts of the path */
export function findEndpoint(
  endpoints: readonly NodeEndpoint[],
  parts: readonly string[],
): { readonly endpoint: NodeEndpoint; readonly rest: readonly string[] } | undefined {
  let found: { readonly endpoint: NodeEndpoint; readonly rest: readonly string[] } | undefined;
  let longest = 0;
  for (const endpoint of endpoints) {
    const names = endpoint.name.split('/');
    if (names.length <= longest || names.some((name, index) => name !== parts[index])) continue;
    longest = names.length;
    found = { endpoint, rest: parts.slice(names.length) };
  }
  return found;
}
