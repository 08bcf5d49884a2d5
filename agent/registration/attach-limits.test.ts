import { expect, test } from 'vitest';
import { decideAttachLimits } from './attach-limits.ts';

test.each<[string, string, Readonly<Record<string, string>>]>([
  ['', 'm5.large', {}],
  ['external', 'm5.large', {}],
  ['constructor', '', {}],
  ['aws', '', { 'attachable-volumes-aws-ebs': '39' }],
  ['aws', 'm4.large', { 'attachable-volumes-aws-ebs': '39' }],
  ['aws', 'c5d.large', { 'attachable-volumes-aws-ebs': '25' }],
  ['aws', 't3.micro', { 'attachable-volumes-aws-ebs': '25' }],
  ['gce', '', { 'attachable-volumes-gce-pd': '15' }],
  ['gce', 'e2-small', { 'attachable-volumes-gce-pd': '15' }],
  ['gce', 'n1-standard-1', { 'attachable-volumes-gce-pd': '127' }],
  ['azure', 'Standard_D2', { 'attachable-volumes-azure-disk': '16' }],
  ['openstack', '', { 'attachable-volumes-cinder': '256' }],
])('in %j a machine of kind %j has %j', (provider, instanceType, expected) => {
  expect(decideAttachLimits(provider, instanceType)).toEqual(expected);
  expect(decideAttachLimits(provider, instanceType, () => true)).toEqual({});
});
