/** Proxy subresources of the API server: to pods, services and nodes, and to nothing else. */
import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { sh, WAIT } from '../lifecycle/support.ts';
import type { Reply } from '../plane/support.ts';
import { useNode } from './support.ts';

const node = useNode();
const { plane } = node;
const FOLDER = '/api/v1/namespaces/default';

let web: string;
let address: string;
beforeAll(async () => {
  // Echoes the request.
  const script = `mkdir -p /w/cgi-bin /w/below
cat > /w/cgi-bin/tell <<'END'
#!/bin/sh
printf 'Content-Type: text/plain\\r\\n\\r\\n'
echo $REQUEST_METHOD $REQUEST_URI
cat
END
cat > /w/page.html <<'END'
${PAGE}
END
gzip -c /w/page.html > /w/page.gz
cat > /w/cgi-bin/page <<'END'
#!/bin/sh
case $QUERY_STRING in
plain) printf 'Content-Type: text/html\\r\\nContent-Length: %s\\r\\n\\r\\n' $(wc -c < /w/page.html); cat /w/page.html;;
chunked) printf 'Content-Type: text/html; charset=utf-8\\r\\n\\r\\n'
  head -c 40 /w/page.html; sleep 1; tail -c +41 /w/page.html;;
gzip) printf 'Content-Type: text/html\\r\\nContent-Encoding: gzip\\r\\n\\r\\n'; cat /w/page.gz;;
text) printf 'Content-Type: text/plain\\r\\n\\r\\n'; cat /w/page.html;;
esac
END
chmod +x /w/cgi-bin/page
chmod +x /w/cgi-bin/tell; echo page > /w/below/index.html; httpd -p 8080 -h /w; ${WAIT}`;
  web = await node.run('web', {
    hostNetwork: false,
    containers: [
      sh('main', script, {
        ports: [{ name: 'http', containerPort: 8080 }],
        readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
      }),
    ],
  });
  const { body } = await plane.get(`${FOLDER}/pods/${web}`);
  address = String(body.status['podIP']);
  await plane.post(`${FOLDER}/services`, {
    metadata: { name: 'web' },
    spec: { ports: [{ name: 'main', port: 80, targetPort: 8080 }] },
  });
  const endpoints = (name: string, ip: string, targetRef: object | undefined): Promise<Reply> =>
    plane.post(`${FOLDER}/endpoints`, {
      metadata: { name },
      subsets: [{ addresses: [{ ip, targetRef }], ports: [{ name: 'main', port: 8080 }] }],
    });
  await endpoints('web', address, { kind: 'Pod', namespace: 'default', name: web });
  await plane.post(`${FOLDER}/services`, {
    metadata: { name: 'trap' },
    spec: { ports: [{ name: 'main', port: 80 }] },
  });
  await endpoints('trap', '10.255.255.1', undefined);
});

describe('a pod', () => {
  test('is reached at the named or the declared port', async () => {
    for (const name of [web, `${web}:8080`, `http:${web}:8080`]) {
      const reply = await plane.get(`${FOLDER}/pods/${name}/proxy/below/index.html`);
      expect([reply.status, reply.text]).toEqual([200, 'page\n']);
    }
  });

  test('gets method, path, query and body', async () => {
    const path = `${FOLDER}/pods/${web}/proxy/cgi-bin/tell?a=1&b=%20`;
    const reply = await plane.call('POST', path, 'the body', { type: 'text/plain' });
    expect(reply.text).toBe('POST /cgi-bin/tell?a=1&b=%20\nthe body');
  });

  test('leads a browser to pages behind the server', async () => {
    const root = await plane.get(`${FOLDER}/pods/${web}/proxy`);
    expect([root.status, root.headers['location']]).toEqual([301, `${FOLDER}/pods/${web}/proxy/`]);
    const below = await plane.get(`${FOLDER}/pods/${web}/proxy/below`);
    expect([below.status, below.headers['location']]).toEqual([302, `${FOLDER}/pods/${web}/proxy/below/`]);
  });

  test.each(['127.0.0.1', '169.254.169.254', '::1', '0.0.0.0'])('is not reached at %s', async (podIP) => {
    const name = `liar-${podIP.replaceAll(/[.:]+/g, '-')}x`;
    await plane.post(`${FOLDER}/pods`, {
      metadata: { name },
      spec: { containers: [{ name: 'c', image: 'x' }] },
    });
    await plane.patch(`${FOLDER}/pods/${name}/status`, { status: { podIP, podIPs: [{ ip: podIP }] } });
    const reply = await plane.get(`${FOLDER}/pods/${name}:80/proxy/`);
    expect([reply.status, reply.body.message]).toEqual([400, 'address not allowed']);
  });
});

/** A page whose links begin at the root, each in a place of its own. */
const PAGE = `<html><head><base href="/app/"><link rel=stylesheet href='/s.css'></head>
<body><a href="/x?a=1&amp;b=2">x</a><a href="next">n</a><img src="//elsewhere/i.png"><script>var a = '<a href="/y">';</script></body></html>`;
/** The page as it is seen through the proxy at the path. */
const led = (at: string): string =>
  PAGE.replace('"/app/"', `"${at}/app/"`).replace("'/s.css'", `'${at}/s.css'`).replace('"/x?', `"${at}/x?`);

describe('links of pages', () => {
  const ways = (): readonly string[] => [
    `${FOLDER}/pods/${web}:8080/proxy`,
    `${FOLDER}/services/web:main/proxy`,
  ];

  test.each(['plain', 'chunked', 'gzip'])(
    'lead through the proxy, from a page that comes %s',
    async (form) => {
      for (const at of ways()) {
        const reply = await plane.get(`${at}/cgi-bin/page?${form}`, { 'accept-encoding': 'gzip' });
        expect([at, reply.status, reply.headers['content-encoding']]).toEqual([
          at,
          200,
          form === 'gzip' ? 'gzip' : undefined,
        ]);
        const text = form === 'gzip' ? gunzipSync(reply.bytes).toString() : reply.text;
        expect(text.trimEnd()).toBe(led(at));
      }
    },
  );

  test('of what is no page stay as they are', async () => {
    for (const at of ways()) {
      expect((await plane.get(`${at}/cgi-bin/page?text`)).text.trimEnd()).toBe(PAGE);
    }
  });
});

describe('a service', () => {
  test.each(['web:main', 'web:80', 'http:web:main'])('is reached at one of its pods (%s)', async (name) => {
    const reply = await plane.get(`${FOLDER}/services/${name}/proxy/below/index.html`);
    expect([reply.status, reply.text]).toEqual([200, 'page\n']);
  });

  test.each([
    ['gone', 404, 'services "gone" not found'],
    ['web:81', 503, 'no service port 81 found for service "web"'],
    // An address that does not belong to a pod could belong to anything.
    ['trap:main', 503, 'no endpoints available for service "trap"'],
  ])('%s is not there', async (name, status, message) => {
    const reply = await plane.get(`${FOLDER}/services/${name}/proxy/`);
    expect([reply.status, reply.body.message]).toEqual([status, message]);
  });
});

describe('a node', () => {
  const proxied = (name: string, path: string): Promise<Reply> =>
    plane.get(`/api/v1/nodes/${name}/proxy/${path}`);

  test('is reached at its agent', async () => {
    expect((await proxied('n1', 'healthz')).text).toBe('ok');
    expect((await proxied(`n1:${node.port()}`, 'healthz')).text).toBe('ok');
    expect((await proxied('n1', `containerLogs/default/${web}/main`)).status).toBe(200);
  });

  test('is not reached elsewhere on this machine', async () => {
    const server = createServer((_, response) => response.end('a secret'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const bound = server.address();
    const port = typeof bound === 'object' ? (bound?.port ?? 0) : 0;
    const reply = await proxied(`http:n1:${port}`, '');
    await new Promise((resolve) => server.close(resolve));
    expect([reply.status, reply.body.message]).toEqual([400, 'address not allowed']);
  });

  test('can’t lead the server to itself, nor to what is link-local', async () => {
    const own = Number(new URL(plane.server.url).port);
    for (const [name, ip, port] of [
      ['self', '127.0.0.1', own],
      ['cloud', '169.254.169.254', 80],
    ] as const) {
      await plane.post('/api/v1/nodes', { metadata: { name } });
      await plane.patch(`/api/v1/nodes/${name}/status`, {
        status: {
          addresses: [{ type: 'InternalIP', address: ip }],
          daemonEndpoints: { [plane.words.nodeAgentEndpointMember]: { Port: port } },
        },
      });
      const reply = await proxied(name, 'api/v1/secrets');
      expect([reply.status, reply.body.message]).toEqual([400, 'address not allowed']);
    }
  });

  test('without an address cannot be reached', async () => {
    await plane.post('/api/v1/nodes', { metadata: { name: 'mute' } });
    expect((await proxied('mute', 'healthz')).status).toBe(503);
    expect((await proxied('none', 'healthz')).status).toBe(404);
  });
});
