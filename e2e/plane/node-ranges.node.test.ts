/** Ranges of pod addresses for nodes: upstream's flags of the controller manager. */
import { expect, test } from 'vitest';
import { eventually } from '../../testing/wait.ts';
import { usePlane } from './support.ts';

const plane = usePlane('plat', [
  '--controllers=nodeipam',
  '--allocate-node-cidrs',
  '--cluster-cidr=10.32.0.0/14,fd00:1::/56',
  '--node-cidr-mask-size-ipv4=20',
  '--service-cluster-ip-range=10.32.0.0/24',
]);

test('a node gets a range of each family', async () => {
  expect((await plane.post('/api/v1/nodes', { metadata: { name: 'n1' } })).status).toBe(201);
  const spec = await eventually(async () => {
    const { body } = await plane.get('/api/v1/nodes/n1');
    return body.spec['podCIDRs'] === undefined ? undefined : body.spec;
  });
  expect(spec).toMatchObject({ podCIDR: '10.32.16.0/20', podCIDRs: ['10.32.16.0/20', 'fd00:1::/64'] });
});
