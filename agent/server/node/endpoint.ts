/** Endpoint and response types of the node server, and the lookup of an endpoint by path. */

export interface NodeRequest {
  readonly method: string;
  /** Decoded path segments after the name of the endpoint. */
  readonly rest: readonly string[];
  /** The path ends with a slash. */
  readonly endsInSlash: boolean;
  readonly query: URLSearchParams;
  /** The client requests a protocol upgrade. */
  readonly isUpgrade: boolean;
  /** Returns the request body as text. @throws StatusError when it exceeds the limit */
  readonly body: () => Promise<string>;
  /** Fires when the client has disconnected. */
  readonly signal: AbortSignal;
}

export type NodeResponse =
  | { readonly kind: 'text'; readonly text: string; readonly contentType?: string; readonly status?: number }
  | { readonly kind: 'json'; readonly value: unknown }
  | {
      readonly kind: 'stream';
      readonly chunks: AsyncIterable<Uint8Array>;
      readonly contentType: string;
    }
  /** Proxies the connection of the client to this streaming URL of the runtime. */
  | { readonly kind: 'upgrade'; readonly url: string };

export interface NodeEndpoint {
  /** First path segment, or several joined by `/`. */
  readonly name: string;
  readonly methods: readonly string[];
  readonly handle: (request: NodeRequest) => Promise<NodeResponse> | NodeResponse;
}

export const text = (value: string, status = 200): NodeResponse => ({ kind: 'text', text: value, status });

/** Returns the endpoint with the longest matching name, and the remaining segments.
 *  @param parts decoded segments of the path */
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
