/** Sandbox options: namespaces, names, DNS, ports, kernel settings, runtime handler. */
import { readlink } from 'node:fs/promises';
import { request } from 'node:http';
import { hostname } from 'node:os';
import { describe, expect, test } from 'vitest';
import { isReady } from '../../testing/agent.ts';
import { freePort } from '../../testing/free-port.ts';
import { eventually } from '../../testing/wait.ts';
import { pod, sh, useHarness, WAIT } from './support.ts';

describe.concurrent('sandbox', () => {
  const harness = useHarness([
    '--cluster-domain=cluster.test',
    '--cluster-dns=10.1.2.3',
    '--allowed-unsafe-sysctls=net.core.somaxconn',
  ]);

  const namespace = (kind: string) => readlink(`/proc/self/ns/${kind}`);
  const inside = (kind: string) => `readlink /proc/self/ns/${kind}`;

  test("the node's network, process and IPC namespaces are used only where requested for", async () => {
    await harness.agent.put(
      'host.json',
      pod('host', { hostPID: true, hostIPC: true, containers: [sh('c', WAIT)] }),
    );
    await harness.agent.put(
      'own.json',
      pod('own', { hostNetwork: false, containers: [sh('c', WAIT), sh('d', WAIT)] }),
    );
    const host = await harness.agent.waitFor('host', isReady);
    const own = await harness.agent.waitFor('own', isReady);
    for (const kind of ['net', 'pid', 'ipc']) {
      expect((await harness.exec(host, 'c', inside(kind))).trim()).toBe(await namespace(kind));
      expect((await harness.exec(own, 'c', inside(kind))).trim()).not.toBe(await namespace(kind));
    }
    expect(await harness.exec(own, 'c', inside('net'))).toBe(await harness.exec(own, 'd', inside('net')));
    expect(await harness.exec(own, 'c', inside('ipc'))).toBe(await harness.exec(own, 'd', inside('ipc')));
    expect(await harness.exec(own, 'c', inside('pid'))).not.toBe(await harness.exec(own, 'd', inside('pid')));
    expect(host.status?.podIP).toBe(host.status?.hostIP);
    expect(own.status?.podIP).not.toBe(own.status?.hostIP);
    expect(await harness.exec(own, 'c', 'hostname -i')).toBe(`${own.status?.podIP}\n`);
  });

  test('shareProcessNamespace: containers see each other', async () => {
    await harness.agent.put(
      'share.json',
      pod('share', { shareProcessNamespace: true, containers: [sh('c', WAIT), sh('d', 'sleep 4321')] }),
    );
    const found = await harness.agent.waitFor('share', isReady);
    // The container runs for a moment before its command does.
    const others = await eventually(() => harness.exec(found, 'c', 'ps | grep -c "[s]leep 4321"'));
    expect(others).toMatch(/^[1-9]/);
    expect(await harness.exec(found, 'c', 'cat /proc/1/comm')).toBe('pause\n');
  });

  test('hostname, subdomain and the managed hosts file', async () => {
    const hostAliases = [{ ip: '10.9.9.9', hostnames: ['one.test', 'two.test'] }];
    await harness.agent.put(
      'names.json',
      pod('names', {
        hostNetwork: false,
        hostname: 'mail',
        subdomain: 'sub',
        hostAliases,
        containers: [sh('c', WAIT)],
      }),
    );
    await harness.agent.put(
      'fqdn.json',
      pod('fqdn', {
        hostNetwork: false,
        hostname: 'mail',
        subdomain: 'sub',
        setHostnameAsFQDN: true,
        containers: [sh('c', WAIT)],
      }),
    );
    await harness.agent.put('plain.json', pod('plain', { hostNetwork: false, containers: [sh('c', WAIT)] }));
    await harness.agent.put('onhost.json', pod('onhost', { hostAliases, containers: [sh('c', WAIT)] }));
    const names = await harness.agent.waitFor('names', isReady);
    expect(await harness.exec(names, 'c', 'hostname; hostname -f')).toBe(
      'mail\nmail.sub.default.svc.cluster.test\n',
    );
    const hosts = await harness.exec(names, 'c', 'cat /etc/hosts');
    expect(hosts).toContain(`${names.status?.podIP}\tmail.sub.default.svc.cluster.test\tmail\n`);
    expect(hosts).toContain('10.9.9.9\tone.test\ttwo.test\n');
    expect(hosts).toMatch(/^127\.0\.0\.1\tlocalhost$/m);
    const fqdn = await harness.agent.waitFor('fqdn', isReady);
    expect(await harness.exec(fqdn, 'c', 'hostname')).toBe('mail.sub.default.svc.cluster.test\n');
    const plain = await harness.agent.waitFor('plain', isReady);
    expect(await harness.exec(plain, 'c', 'hostname')).toBe('plain-n1\n');
    const onHost = await harness.agent.waitFor('onhost', isReady);
    expect(await harness.exec(onHost, 'c', 'hostname')).toBe(`${hostname()}\n`);
    expect(await harness.exec(onHost, 'c', 'cat /etc/hosts')).toContain('10.9.9.9\tone.test\ttwo.test\n');
  });

  test('dnsPolicy and dnsConfig become resolv.conf', async () => {
    const custom = {
      nameservers: ['192.0.2.53'],
      searches: ['my.test'],
      options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
    };
    await harness.agent.put('dns.json', pod('dns', { hostNetwork: false, containers: [sh('c', WAIT)] }));
    await harness.agent.put(
      'none.json',
      pod('none', { hostNetwork: false, dnsPolicy: 'None', dnsConfig: custom, containers: [sh('c', WAIT)] }),
    );
    await harness.agent.put(
      'default.json',
      pod('default', {
        hostNetwork: false,
        dnsPolicy: 'Default',
        dnsConfig: custom,
        containers: [sh('c', WAIT)],
      }),
    );
    const resolv = async (name: string) =>
      harness.exec(await harness.agent.waitFor(name, isReady), 'c', 'cat /etc/resolv.conf');
    const cluster = await resolv('dns');
    expect(cluster).toMatch(/^nameserver 10\.1\.2\.3$/m);
    expect(cluster).toMatch(/^search default\.svc\.cluster\.test svc\.cluster\.test cluster\.test/m);
    expect(cluster).toMatch(/^options ndots:5$/m);
    expect((await resolv('none')).trim().split('\n').sort()).toEqual([
      'nameserver 192.0.2.53',
      'options ndots:2 edns0',
      'search my.test',
    ]);
    expect(await resolv('default')).toMatch(/^search .*my\.test$/m);
  });

  test('a hostPort reaches the container', async () => {
    const serve = 'mkdir /tmp/w; echo served > /tmp/w/index.html; exec httpd -f -p 8080 -h /tmp/w';
    const hostPort = await freePort();
    await harness.agent.put(
      'port.json',
      pod('port', {
        hostNetwork: false,
        containers: [sh('c', serve, { ports: [{ containerPort: 8080, hostPort }] })],
      }),
    );
    const found = await harness.agent.waitFor('port', isReady);
    expect(await eventually(() => get(`http://${found.status?.hostIP}:${hostPort}/`))).toBe('served\n');
  });

  test('sysctls hold inside the pod only; unsafe ones need to be allowed', async () => {
    const sysctls = [
      { name: 'net.ipv4.ip_unprivileged_port_start', value: '80' },
      { name: 'net/core/somaxconn', value: '77' },
    ];
    await harness.agent.put(
      'sysctl.json',
      pod('sysctl', { hostNetwork: false, securityContext: { sysctls }, containers: [sh('c', WAIT)] }),
    );
    await harness.agent.put(
      'unsafe.json',
      pod('unsafe', {
        hostNetwork: false,
        securityContext: { sysctls: [{ name: 'net.ipv4.ip_forward', value: '1' }] },
        containers: [sh('c', WAIT)],
      }),
    );
    const found = await harness.agent.waitFor('sysctl', isReady);
    expect(
      await harness.exec(
        found,
        'c',
        'cat /proc/sys/net/ipv4/ip_unprivileged_port_start /proc/sys/net/core/somaxconn',
      ),
    ).toBe('80\n77\n');
    const refused = await harness.agent.waitFor('unsafe', ({ status }) => status?.phase === 'Failed');
    expect(refused.status?.reason).toBe('SysctlForbidden');
  });

  test('an unknown runtime class is reported', async () => {
    await harness.agent.put(
      'class.json',
      pod('class', { runtimeClassName: 'gvisor', containers: [sh('c', WAIT)] }),
    );
    expect(await harness.event('class', 'FailedCreatePodSandBox')).toMatch(/no runtime for "gvisor"/);
    expect((await harness.agent.pod('class'))?.status?.phase).toBe('Pending');
  });
});

function get(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request(url, { timeout: 2_000 }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.once('end', () => resolve(Buffer.concat(parts).toString()));
    });
    call.once('timeout', () => call.destroy(new Error('there is no response')));
    call.once('error', reject);
    call.end();
  });
}
