import {
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  jwtVerify,
  type ProtectedHeaderParameters,
} from "jose";
import type { ExternalKey, KeyFolder, TrustedKeys } from "./issuer-keys.js";

/** Tokens of external issuers (JWT), verified with the keys that the project trusts. */

export interface ExternalTokenOptions {
  /** The claim with the user's login, unless the project's options have another. */
  readonly claim: string;
  /** Allowed clock skew. */
  readonly toleranceSeconds: number;
}

/** Longer tokens are refused. */
const maxLength = 16_384;

export class ExternalTokens {
  constructor(
    private readonly keys: KeyFolder,
    private readonly options: ExternalTokenOptions,
  ) {}

  /**
   * The login in the token; undefined if the token is malformed, not signed with one of the project's keys, expired,
   * without an expiry, or for another audience.
   */
  async loginOf(token: string, project: string): Promise<string | undefined> {
    if (token.length > maxLength) return undefined;
    const header = headerOf(token);
    if (!header) return undefined;
    const trusted = await this.keys.read(project);
    const claim = trusted.options.claim ?? this.options.claim;
    for (const key of trusted.keys) {
      if (!fits(key, header)) continue;
      const payload = await this.verified(token, key, { trusted, project, claim });
      if (payload === "not this key") continue;
      const login = payload && Object.hasOwn(payload, claim) ? payload[claim] : undefined;
      return typeof login === "string" && login !== "" ? login : undefined;
    }
    return undefined;
  }

  /** The token's claims; undefined if the signature is valid and the claims are not. */
  private async verified(
    token: string,
    { key, algorithm }: ExternalKey,
    { trusted, project, claim }: { trusted: TrustedKeys; project: string; claim: string },
  ): Promise<JWTPayload | "not this key" | undefined> {
    const { audience, issuer } = trusted.options;
    try {
      const { payload } = await jwtVerify(token, key, {
        // The algorithm of the key, not that of the token's header: `none` and algorithm confusion are refused.
        algorithms: [algorithm],
        audience:
          typeof audience === "string" || audience === undefined ? (audience ?? project) : [...audience],
        clockTolerance: this.options.toleranceSeconds,
        requiredClaims: ["exp", claim],
        ...(issuer === undefined ? {} : { issuer }),
      });
      // `1e400` is read as Infinity, with which a token would never end.
      return Number.isFinite(payload.exp) ? payload : undefined;
    } catch (error) {
      if (error instanceof errors.JWSSignatureVerificationFailed) return "not this key";
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  }
}

function headerOf(token: string): ProtectedHeaderParameters | undefined {
  try {
    return decodeProtectedHeader(token);
  } catch {
    return undefined;
  }
}

const fits = (key: ExternalKey, header: ProtectedHeaderParameters): boolean =>
  key.algorithm === header.alg && (key.id === undefined || header.kid === undefined || key.id === header.kid);
