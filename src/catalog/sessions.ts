/** Where a session came from: the API's login, or the administration's command line. */
export type SessionOrigin = "api" | "console";

export interface Session {
  readonly accountId: number;
  readonly login: string;
  readonly projectId: number;
  readonly origin: SessionOrigin;
}

/** Sessions in Redis, kept by Redis's clock; a session lives `idleSeconds` after its last use. */
export interface Sessions {
  /** The token: 256 random bits, base64url. Only its hash is stored. */
  open(session: Session): Promise<string>;
  /** The session of a token, whose idle time starts again; undefined for an unknown or ended one. */
  find(token: string): Promise<Session | undefined>;
  close(token: string): Promise<void>;
}
