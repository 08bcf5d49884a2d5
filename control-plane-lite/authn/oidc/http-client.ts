/** GET requests to identity providers: over TLS, with limits on time and size, without redirects. */
import { Agent, request } from 'undici';
import { AgentSuccession } from '../../kit/agent-succession.ts';

export interface HttpClient {
  /** Returns the body of a successful response as text. @throws Error that names the URL */
  get(url: string, bearerToken?: string): Promise<string>;
  /** Trusts these CAs from now on, and opens new connections. Takes the same text as `createHttpClient`. */
  trust(authorities: string): void;
  close(): Promise<void>;
}

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 1024 * 1024;
const CONNECTIONS = 16;

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of body) {
    length += piece.length;
    if (length > MAX_BYTES) throw new Error(`the response exceeds ${MAX_BYTES} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

const agentThatTrusts = (authorities: string): Agent =>
  new Agent({ connections: CONNECTIONS, connect: authorities === '' ? {} : { ca: authorities } });

/** @param authorities PEM; empty: the CAs of the system */
export function createHttpClient(authorities: string): HttpClient {
  const agents = new AgentSuccession(agentThatTrusts(authorities));
  const closed = new AbortController();

  async function send(url: string, bearerToken: string | undefined): Promise<string> {
    const { statusCode, body } = await request(url, {
      dispatcher: agents.current,
      signal: AbortSignal.any([closed.signal, AbortSignal.timeout(TIMEOUT_MS)]),
      headers: bearerToken === undefined ? {} : { authorization: `Bearer ${bearerToken}` },
    });
    const text = await readText(body);
    if (statusCode < 200 || statusCode > 299)
      throw new Error(`the server responded with status ${statusCode}`);
    return text;
  }

  return {
    async get(url, bearerToken) {
      if (URL.parse(url)?.protocol !== 'https:') throw new Error(`${url} is not an https URL`);
      try {
        return await send(url, bearerToken);
      } catch (cause) {
        throw new Error(`failed to get ${url}: ${cause instanceof Error ? cause.message : String(cause)}`, {
          cause,
        });
      }
    },
    trust(next) {
      agents.replace(agentThatTrusts(next));
    },
    async close() {
      closed.abort(new Error('the server is stopping'));
      await agents.destroy();
    },
  };
}
