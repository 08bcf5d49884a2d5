/** Extension server for tests, with its own objects, and its APIService. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { createAuthority, issueIdentity } from '#api/pki/certificate.ts';
import type { Body, Json, Plane } from './support.ts';

/** Its group, the group's path, and the name of the APIService. */
export const GROUP: string = 'ext.example.com';
export const BASE: string = `/apis/${GROUP}/v1`;
export const NAME: string = `v1.${GROUP}`;

/** Its entry in discovery. */
export const WIDGETS: Json = {
  kind: 'APIResourceList',
  groupVersion: `${GROUP}/v1`,
  resources: [
    {
      name: 'gadgets',
      singularName: '',
      namespaced: true,
      kind: 'Gadget',
      verbs: ['list', 'deletecollection'],
    },
    {
      name: 'widgets',
      singularName: 'widget',
      namespaced: false,
      kind: 'Widget',
      verbs: ['create', 'delete', 'get', 'list'],
    },
  ],
};

export interface Extension extends AsyncDisposable {
  readonly port: number;
  /** PEM of the authority of its certificate. */
  readonly authority: string;
  /** Without the looks that the server takes at it by itself. */
  readonly requests: readonly IncomingMessage[];
  /** How often the server looked whether it is there. */
  readonly looks: number;
  /** Common names of the certificates that clients came with. */
  readonly clients: ReadonlySet<string>;
  /** Namespaces that have a gadget each. */
  readonly gadgets: Set<string>;
  /** Its documents by path. Others are not there. */
  readonly documents: Map<string, ExtensionDocument>;
  /** Requested documents, each with the request's entity tag. */
  readonly requested: string[];
  /** Says goodbye to every watch. */
  release(): void;
}

interface ExtensionDocument {
  readonly body: string;
  readonly etag?: string;
  /** Responses are delayed until this resolves. */
  readonly until?: Promise<void>;
}

interface Widget {
  readonly metadata: { readonly name: string };
}

const nameOf = (socket: IncomingMessage['socket']): string =>
  String((socket as TLSSocket).getPeerCertificate().subject.CN);

/** In whose name the server looks by itself. */
const LOOKER = /^system:[a-z-]+-aggregator$/;

/** Believes only clients with a certificate by the authority that the server published. */
export async function startExtension(clientAuthority: string): Promise<Extension> {
  const from = new Date(Date.now() - 60_000);
  const to = new Date(Date.now() + 3_600_000);
  const authority = createAuthority({ commonName: 'extension-ca' }, from, to);
  const serving = issueIdentity(authority, {
    subject: { commonName: 'extension' },
    dnsNames: ['widgets.extensions.svc'],
    extendedUsages: ['serverAuth'],
    notBefore: from,
    notAfter: to,
  });
  const requests: IncomingMessage[] = [];
  let looks = 0;
  const clients = new Set<string>();
  const watches = new Set<ServerResponse>();
  const gadgets = new Set<string>();
  const documents: Extension['documents'] = new Map();
  const requested: string[] = [];
  const widgets = new Map<string, Widget>();
  async function create(message: IncomingMessage, reply: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of message) pieces.push(piece as Buffer);
    const text = Buffer.concat(pieces).toString();
    const widget = JSON.parse(text) as Widget;
    widgets.set(widget.metadata.name, widget);
    reply.statusCode = 201;
    reply.end(text);
  }
  function one(message: IncomingMessage, reply: ServerResponse, name: string): void {
    if (name === 'redirect')
      return void reply.writeHead(302, { Location: 'https://127.0.0.1:1/stolen' }).end();
    const widget = widgets.get(name);
    if (widget === undefined) {
      reply.statusCode = 404;
      const status = { apiVersion: 'v1', kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404 };
      reply.end(JSON.stringify({ ...status, message: 'no such widget' }));
      return;
    }
    if (message.method === 'DELETE') widgets.delete(name);
    reply.end(JSON.stringify(widget));
  }
  function describe(message: IncomingMessage, reply: ServerResponse): void {
    reply.setHeader('Content-Type', 'application/json');
    requested.push([message.url ?? '', message.headers['if-none-match'] ?? ''].join(' ').trim());
    const found = documents.get(message.url ?? '');
    if (found === undefined) reply.statusCode = 404;
    else if (found.etag !== undefined) reply.setHeader('ETag', found.etag);
    const isKnown = found?.etag !== undefined && message.headers['if-none-match'] === found.etag;
    if (isKnown) reply.statusCode = 304;
    const end = (): void => void reply.end(isKnown ? '' : found?.body);
    if (found?.until === undefined) end();
    else void found.until.then(end);
  }
  function respond(message: IncomingMessage, reply: ServerResponse): void {
    if (message.url?.startsWith('/openapi/') === true) return describe(message, reply);
    if (LOOKER.test(String(message.headers['x-remote-user']))) looks += 1;
    else requests.push(message);
    clients.add(nameOf(message.socket));
    const { pathname, searchParams } = new URL(message.url ?? '', 'https://extension');
    const [resource = '', name, inside] = pathname.slice(BASE.length + 1).split('/');
    reply.setHeader('Content-Type', 'application/json');
    if (pathname === BASE) reply.end(JSON.stringify(WIDGETS));
    else if (searchParams.has('watch')) {
      watches.add(reply);
      reply.write(`${JSON.stringify({ type: 'ADDED', object: { metadata: { name: 'first' } } })}\n`);
    } else if (resource === 'namespaces' && inside === 'gadgets') {
      if (message.method === 'DELETE') gadgets.delete(name ?? '');
      reply.end(JSON.stringify({ items: gadgets.has(name ?? '') ? [{ metadata: { name: 'g' } }] : [] }));
    } else if (message.method === 'POST') void create(message, reply);
    else if (name !== undefined) one(message, reply, name);
    else {
      const items = [...widgets.values()];
      const list = { kind: 'WidgetList', apiVersion: `${GROUP}/v1`, metadata: {}, items };
      reply.end(JSON.stringify({ ...list, headers: message.headers, url: message.url }));
    }
  }
  const server: Server = createServer(
    {
      cert: serving.certificate,
      key: serving.key,
      ca: clientAuthority,
      requestCert: true,
      rejectUnauthorized: true,
    },
    respond,
  );
  server.on('upgrade', (message: IncomingMessage, socket: TLSSocket) => {
    requests.push(message);
    socket.on('error', () => undefined);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    authority: authority.certificate,
    requests,
    get looks() {
      return looks;
    },
    clients,
    gadgets,
    documents,
    requested,
    release() {
      for (const watch of watches) {
        watch.end(`${JSON.stringify({ type: 'DELETED', object: { metadata: { name: 'first' } } })}\n`);
      }
      watches.clear();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export const conditionOf = (
  object: Body,
): { readonly status: string; readonly reason: string; message: string } =>
  (object.status['conditions'] as { status: string; reason: string; message: string }[] | undefined)?.[0] ?? {
    status: 'none',
    reason: '',
    message: '',
  };

/** The condition of an APIService as soon as it has this status. */
export async function availability(
  plane: Plane,
  name: string,
  status: string,
): Promise<ReturnType<typeof conditionOf>> {
  const path = plane.path('apiregistration/v1', 'apiservices');
  await using watch = await plane.watch(`${path}?watch=1&fieldSelector=metadata.name=${name}`);
  for (;;) {
    const event = await watch.next();
    if (event === undefined) throw new Error('the watch ended');
    const condition = conditionOf(event.object);
    if (event.type !== 'DELETED' && condition.status === status) return condition;
  }
}

/** An APIService of this name. */
export function apiService(plane: Plane, spec: object, name: string = NAME): object {
  const [version, ...group] = name.split('.');
  return {
    apiVersion: `apiregistration.${plane.words.apiGroupDomain}/v1`,
    kind: 'APIService',
    metadata: { name },
    spec: { group: group.join('.'), version, groupPriorityMinimum: 500, versionPriority: 10, ...spec },
  };
}

/** An extension server behind an APIService of the plane, which has found it there. */
export async function aggregate(plane: Plane): Promise<Extension> {
  const { systemNamespace } = plane.words;
  // The server writes it after it is ready.
  await using watch = await plane.watch(
    `/api/v1/namespaces/${systemNamespace}/configmaps?watch=1&fieldSelector=metadata.name=extension-apiserver-authentication`,
  );
  const event = await watch.next();
  const extension = await startExtension(event?.object.data['requestheader-client-ca-file'] ?? '');
  await plane.post('/api/v1/namespaces', { metadata: { name: 'extensions' } });
  await plane.post('/api/v1/namespaces/extensions/services', {
    metadata: { name: 'widgets' },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  });
  await plane.post(
    plane.path('apiregistration/v1', 'apiservices'),
    apiService(plane, {
      service: { namespace: 'extensions', name: 'widgets', port: extension.port },
      caBundle: Buffer.from(extension.authority).toString('base64'),
    }),
  );
  await availability(plane, NAME, 'True');
  return extension;
}
