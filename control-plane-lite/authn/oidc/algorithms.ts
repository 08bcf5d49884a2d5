/** Signature algorithms of ID tokens that can be accepted. */
export const SIGNING_ALGORITHMS: readonly string[] = ['RS', 'ES', 'PS'].flatMap((family) =>
  ['256', '384', '512'].map((bits) => family + bits),
);
