import CRDTCore
import DocStore
import DunlinFeed
import Foundation
import QueryEngine
import ScopePolicy
import SyncProtocol
import Transports

/// The errors of one layer, and the public codes for their codes.
struct ErrorLayer: Sendable {
  /// The public error for an error of this layer; `nil` for any other error.
  let translate: @Sendable (any Error) -> DunlinError?

  /// Describes the errors of one type.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - rows: The public codes of the codes that have other names there.
  ///   - rest: The public code of codes without a row; without it, such a code keeps its name.
  ///   - exception: The public code of a single error that does not follow from its code.
  private init<Failure: CodedError>(
    _ type: Failure.Type, _ rows: [Failure.Code: DunlinError.Code] = [:], rest: DunlinError.Code? = nil,
    except exception: @escaping @Sendable (Failure) -> DunlinError.Code? = { _ in nil }
  ) {
    translate = { error in
      guard let error = error as? Failure else { return nil }
      let code = exception(error) ?? rows[error.code] ?? rest ?? .init(rawValue: error.code.rawValue)
      return DunlinError(code, error)
    }
  }
}

extension ErrorLayer {
  /// All layers below; the errors that are most frequent come first.
  static let all = stores + links

  private static let stores = [
    // A code of the store that has no public counterpart keeps its name, too.
    ErrorLayer(StoreError.self),
    ErrorLayer(QueryError.self),
    ErrorLayer(FeedError.self),
    ErrorLayer(
      DocumentError.self,
      [.invalidID: .invalidDocumentID, .depth: .limit, .size: .limit, .tooLarge: .limit]),
    ErrorLayer(
      CodecError.self,
      [.truncated: .corrupt, .malformed: .corrupt, .checksum: .corrupt, .unknownName: .corrupt]),
  ]

  private static let links =
    [
      ErrorLayer(
        SyncError.self,
        [
          .truncated: .malformed, .malformed: .malformed, .checksum: .malformed, .outOfOrder: .malformed,
          .limit: .limit, .versionMismatch: .incompatiblePeer, .appMismatch: .incompatiblePeer,
          .kindMismatch: .identity, .siteClash: .incompatiblePeer, .cloned: .incompatiblePeer,
          .keyClash: .incompatiblePeer,
          .timeout: .timeout, .storage: .io, .peerClosed: .closed, .closed: .closed,
        ], rest: .other),
      ErrorLayer(
        LinkError.self,
        [
          .portInUse: .portInUse, .permissionDenied: .permission, .refused: .unreachable,
          .unreachable: .unreachable, .timedOut: .timeout, .cancelled: .cancelled, .closed: .closed,
          .disconnected: .closed, .credentials: .identity, .expired: .identity, .untrusted: .identity,
          .revoked: .identity, .malformed: .malformed, .limit: .limit,
        ], rest: .io
      ) { error in
        guard error.code == .system else { return nil }
        switch error.underlying {
        case EMFILE, ENFILE: return .tooManyFiles
        case EROFS: return .readOnlyStore
        default: return nil
        }
      },
      // The codes are those of queries, as the other peer has sent them.
      ErrorLayer(RemoteQueryError.self),
      ErrorLayer(ScopeError.self, [.collectionName: .invalidCollectionName], rest: .argument),
      ErrorLayer(
        RulesError.self, [.collectionName: .invalidCollectionName, .limit: .limit], rest: .argument),
    ] + logins

  #if TLS
    private static let logins = [
      ErrorLayer(
        LoginError.self,
        [
          .refused: .authentication, .timedOut: .timeout, .untrusted: .identity, .answer: .identity,
          .certificate: .identity,
        ])
    ]
  #else
    private static let logins: [ErrorLayer] = []
  #endif
}
