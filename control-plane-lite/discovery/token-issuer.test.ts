import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { createTokenIssuerRoutes } from './token-issuer.ts';

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const keys = [{ id: 'a', algorithm: 'ES256', publicKey }];

test.each([
  ['https://kubernetes.default.svc', 2],
  ['https://issuer.example/path', 2],
  ['http://issuer.example', 0],
  ['https://issuer.example?a=b', 0],
  ['https://issuer.example#a', 0],
  ['robot', 0],
])('the issuer %s has %d routes', (issuer, count) => {
  expect(
    createTokenIssuerRoutes({ issuer, keys: () => keys, jwksUri: '', serverAddress: () => 'h:1' }),
  ).toHaveLength(count);
});
