import { describe, expect, it, test } from 'vitest';
import { embeddedText } from '#api/codec/embedded-text.ts';
import type { PodTemplateSpec } from '#api/gen/core-v1.ts';
import { holdsTemplate, revisionData, sameTemplate, templateOfData } from './template-form.ts';
import { revisionWord } from './template-hash.ts';

const template: PodTemplateSpec = {
  metadata: { labels: { app: 'nginx' } },
  spec: {
    containers: [
      {
        name: 'nginx',
        image: 'nginx',
        imagePullPolicy: 'Always',
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
      },
    ],
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
  },
};
const TEXT =
  '{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"nginx"}},' +
  '"spec":{"containers":[{"image":"nginx","imagePullPolicy":"Always","name":"nginx","resources":{},' +
  '"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],' +
  '"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler",' +
  '"securityContext":{},"terminationGracePeriodSeconds":30}}}}';

const [nginx] = template.spec?.containers ?? [];
const withContainer = (members: object): PodTemplateSpec => ({
  ...template,
  spec: { ...template.spec, containers: [{ name: 'nginx', ...nginx, ...members }] },
});

describe('the data of a revision', () => {
  it('has the bytes of upstream’s template', () => {
    expect(embeddedText(revisionData(template))).toBe(TEXT);
    expect(embeddedText(revisionData(withContainer({ resources: {}, env: [] })))).toBe(TEXT);
  });

  it('has names in the order of their bytes, and the escapes of HTML', () => {
    const command = ['sh', '-c', 'a < b && c > d \u2028\b\f\\b\n"é"'];
    const labels = { 10: 'x', 9: 'y', b: 'z', 'B/1': 'w' };
    const text = embeddedText(revisionData({ ...withContainer({ command }), metadata: { labels } }));
    expect(text).toContain('"labels":{"10":"x","9":"y","B/1":"w","b":"z"}');
    expect(text).toContain(
      String.raw`"command":["sh","-c","a \u003c b \u0026\u0026 c \u003e d \u2028\u0008\u000c\\b\n\"é\""]`,
    );
    expect(JSON.parse(text)).toEqual(revisionData({ ...withContainer({ command }), metadata: { labels } }));
  });

  it('has the zero values of claims in it', () => {
    const spec = { accessModes: ['ReadWriteOnce' as const], resources: { requests: { storage: '1Gi' } } };
    const volumes = [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec } } }];
    const text = embeddedText(revisionData({ spec: { ...template.spec, containers: [], volumes } }));
    expect(text).toContain('"containers":null');
    expect(text).toContain(
      '"ephemeral":{"volumeClaimTemplate":{"metadata":{"creationTimestamp":null},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}',
    );
  });

  it('brings the template back', () => {
    const data = revisionData(template);
    expect(sameTemplate(templateOfData(data) ?? {}, template)).toBe(true);
    expect(JSON.stringify(templateOfData(data))).not.toContain('null');
    expect(holdsTemplate(data, withContainer({ resources: {} }))).toBe(true);
    expect(holdsTemplate(data, withContainer({ image: 'other' }))).toBe(false);
    expect(holdsTemplate({ spec: { template: { ...template, $patch: 'replace' } } }, template)).toBe(true);
    expect([templateOfData(undefined), holdsTemplate('x', {})]).toEqual([undefined, false]);
  });

  it('has the word that FNV-1 makes of it and of the collisions', () => {
    // FNV-1 of `00` is 561426637, its digits in the alphabet of generated names.
    expect(revisionWord(0, 0)).toBe('9b586bb7c');
    expect(revisionWord(revisionData(template))).toBe(revisionWord(JSON.parse(TEXT)));
    expect(revisionWord(revisionData(template), 1)).not.toBe(revisionWord(revisionData(template)));
  });
});

test.each<readonly [string, object, object, boolean]>([
  ['resources that hold nothing', { resources: {} }, {}, true],
  ['lists that hold nothing', { env: [], ports: [], volumeMounts: [] }, {}, true],
  ['a divisor of zero', { env: [fieldRef({ divisor: '0' })] }, { env: [fieldRef({})] }, true],
  ['a security context that holds nothing', { securityContext: {} }, {}, false],
  ['limits', { resources: { limits: { cpu: '1' } } }, { resources: {} }, false],
])('%s', (_, left, right, same) => {
  expect(sameTemplate(withContainer(left), withContainer(right))).toBe(same);
});

function fieldRef(more: object): object {
  return { name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', ...more } } };
}
