/** Conversion webhook for tests: HTTPS on loopback with a certificate of its own authority and configurable
 *  responses. */
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createAuthority, issueIdentity } from '#api/pki/certificate.ts';
import type { Body, Json } from './support.ts';

export interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion: string;
    readonly objects: readonly Body[];
  };
}

/** Returns the response body, or a status or text to send instead; `undefined` to send no response. */
export type Responder = (review: Review) => Json | string | number | undefined;

export interface ConversionWebhook extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** Base64 of the authority's certificate. */
  readonly caBundle: string;
  /** Received reviews so far. */
  readonly reviews: Review[];
  readonly paths: string[];
  /** Authorization headers of the requests. */
  readonly authorizations: string[];
  respond: Responder;
}

/** Creates a responder that converts every object with this function. */
export const converting =
  (convert: (object: Body, apiVersion: string) => Json): Responder =>
  ({ apiVersion, kind, request: { uid, desiredAPIVersion, objects } }) => ({
    apiVersion,
    kind,
    response: {
      uid,
      result: { status: 'Success' },
      convertedObjects: objects.map((object) => ({
        ...convert(object, desiredAPIVersion),
        apiVersion: desiredAPIVersion,
        kind: object.kind,
      })),
    },
  });

const DAY_MS = 86_400_000;

export async function startConversionWebhook(
  respond: Responder,
  dnsNames: readonly string[] = [],
): Promise<ConversionWebhook> {
  const notBefore = new Date(Date.now() - DAY_MS);
  const notAfter = new Date(Date.now() + DAY_MS);
  const authority = createAuthority({ commonName: 'webhook-authority' }, notBefore, notAfter);
  const { certificate, key } = issueIdentity(authority, {
    subject: { commonName: 'webhook' },
    dnsNames,
    ipAddresses: ['127.0.0.1'],
    extendedUsages: ['serverAuth'],
    notBefore,
    notAfter,
  });
  const reviews: Review[] = [];
  const paths: string[] = [];
  const authorizations: string[] = [];
  const server = createServer({ cert: certificate, key }, (request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const review = JSON.parse(Buffer.concat(pieces).toString()) as Review;
      reviews.push(review);
      paths.push(request.url ?? '');
      authorizations.push(request.headers.authorization ?? '');
      const body = hook.respond(review);
      if (body === undefined) return;
      response.statusCode = typeof body === 'number' ? body : 200;
      response.setHeader('content-type', 'application/json');
      response.end(typeof body === 'object' ? JSON.stringify(body) : typeof body === 'string' ? body : '{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const hook: ConversionWebhook = {
    port,
    url: `https://127.0.0.1:${port}/convert`,
    caBundle: Buffer.from(authority.certificate).toString('base64'),
    reviews,
    paths,
    authorizations,
    respond,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return hook;
}
