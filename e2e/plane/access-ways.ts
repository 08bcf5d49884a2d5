/** Ways by which a request reaches an API server: HTTP/1.1, HTTP/2, and upgrades to WebSocket. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { Agent, request } from 'undici';

export interface HttpResponse {
  readonly status: number;
  /** The body of a refusal; nothing of any other. */
  readonly text: string;
}

export type Send = (
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
) => Promise<HttpResponse>;

export interface Ways {
  readonly http1: Send;
  readonly http2: Send;
  /** An upgrade on a connection of its own, which ends with the head. Bodies are not sent. */
  readonly webSocket: Send;
  close(): Promise<void>;
}

const isRefusal = (status: number): boolean => status === 401 || status === 403;

function createHttp1(url: string, dispatcher: Agent): Send {
  return async (method, path, headers, body) => {
    const response = await request(url + path, {
      method: method as 'GET',
      headers,
      dispatcher,
      ...(body.length === 0 ? {} : { body }),
    });
    const { statusCode: status } = response;
    if (isRefusal(status)) return { status, text: await response.body.text() };
    if (path.includes('?watch=')) response.body.on('error', () => undefined).destroy();
    else await response.body.dump();
    return { status, text: '' };
  };
}

/** A server ends a session that resets streams without end; watches are ended by nothing else. */
const RESETS_OF_A_SESSION = 500;

function createHttp2(open: () => ClientHttp2Session): { readonly send: Send; readonly close: () => void } {
  const sessions = [open()];
  let resets = 0;
  function reset(stream: ClientHttp2Stream): void {
    stream.close(constants.NGHTTP2_CANCEL);
    resets += 1;
    if (resets < RESETS_OF_A_SESSION) return;
    // The one before stays open: requests that were made in this turn are not sent yet.
    sessions.unshift(open());
    resets = 0;
  }
  const send: Send = (method, path, headers, body) =>
    new Promise((resolve, reject) => {
      const [session = open()] = sessions;
      const head = { ':method': method, ':path': path, ...headers };
      const stream = session.request(head, { endStream: body.length === 0 });
      let status = 0;
      let text = '';
      stream.on('error', reject);
      stream.on('response', (received) => {
        status = Number(received[':status']);
        if (!path.includes('?watch=') || isRefusal(status)) return;
        resolve({ status, text });
        reset(stream);
      });
      stream.setEncoding('utf8').on('data', (part: string) => {
        if (isRefusal(status)) text += part;
      });
      stream.on('end', () => resolve({ status, text }));
      if (body.length > 0) stream.end(body);
    });
  return { send, close: () => sessions.forEach((session) => session.close()) };
}

const createWebSocket =
  (url: string, ca: string): Send =>
  (method, path, headers) =>
    new Promise((resolve, reject) => {
      const outgoing = httpsRequest(url + path, {
        method,
        ca,
        agent: false,
        headers: {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': Buffer.alloc(16).toString('base64'),
          ...headers,
        },
      });
      outgoing.on('upgrade', (_, socket) => {
        socket.on('error', () => undefined).destroy();
        resolve({ status: 101, text: '' });
      });
      outgoing.on('response', (response) => {
        let text = '';
        const { statusCode: status = 0 } = response;
        response.on('error', () => undefined);
        if (!isRefusal(status)) {
          resolve({ status, text });
          response.destroy();
          return;
        }
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => resolve({ status, text }));
      });
      outgoing.on('error', reject);
      outgoing.end();
    });

export function createWays({ url, ca }: { readonly url: string; readonly ca: string }): Ways {
  const agent = new Agent({ connect: { ca }, allowH2: false, connections: 24, pipelining: 1 });
  const http2 = createHttp2(() => connect(url, { ca }));
  return {
    http1: createHttp1(url, agent),
    http2: http2.send,
    webSocket: createWebSocket(url, ca),
    async close() {
      http2.close();
      await agent.destroy();
    },
  };
}
