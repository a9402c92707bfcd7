import CRDTCore
import DocStore
import Links
import QueryEngine
import SyncProtocol

// Handles stand for something that is kept elsewhere. Printed, each says its type and what it stands for, and
// nothing that documents contain.

extension Dunlin: CustomStringConvertible {
  public var description: String {
    let store = core.local.store
    let state = !core.state.isOpen ? "closed" : isSyncActive ? "open, syncing" : "open"
    return "Dunlin(\(store.path), \(state))"
  }
}

extension DunlinStore: CustomStringConvertible {
  public var description: String { "DunlinStore(\(local.store.path))" }
}

extension DunlinSync: CustomStringConvertible {
  public var description: String {
    "DunlinSync(\(sync.isActive ? "active" : "not active"), \(subscriptions.count.counting("subscription")))"
  }
}

extension DunlinPresence: CustomStringConvertible {
  public var description: String { "DunlinPresence(\(graph.remotePeers.count.counting("remote peer")))" }
}

extension DunlinCollection: CustomStringConvertible {
  public var description: String { "DunlinCollection(\(name))" }
}

extension DunlinSubscription: CustomStringConvertible {
  public var description: String { "DunlinSubscription(\(queryText)\(isCancelled ? ", cancelled" : ""))" }
}

extension DunlinLiveQuery: CustomStringConvertible {
  public var description: String { "DunlinLiveQuery(\(what)\(isCancelled ? ", cancelled" : ""))" }
}

extension DunlinPresenceObserver: CustomStringConvertible {
  public var description: String { "DunlinPresenceObserver(\(task.isCancelled ? "cancelled" : "observing"))" }
}

extension DunlinPreparedStatement: CustomStringConvertible {
  public var description: String { "DunlinPreparedStatement(\(query))" }
}

extension DunlinRemoteQuery: CustomStringConvertible {
  public var description: String { "DunlinRemoteQuery(\(question.text), at \(peer))" }
}

// MARK: - Documents that are not read yet

extension DunlinPendingCursorOperation: CustomStringConvertible {
  public var description: String { "DunlinPendingCursorOperation(\(finding.place))" }
}

extension DunlinPendingIDSpecificOperation: CustomStringConvertible {
  public var description: String { "DunlinPendingIDSpecificOperation(\(collection), \(id))" }
}

extension DunlinTransactionPendingCursorOperation: CustomStringConvertible {
  public var description: String { "DunlinTransactionPendingCursorOperation(\(finding.place))" }
}

extension DunlinTransactionPendingIDSpecificOperation: CustomStringConvertible {
  public var description: String {
    "DunlinTransactionPendingIDSpecificOperation(\(scope.collectionName), \(id))"
  }
}

extension DunlinReadTransactionPendingCursorOperation: CustomStringConvertible {
  public var description: String { "DunlinReadTransactionPendingCursorOperation(\(finding.place))" }
}

extension DunlinReadTransactionPendingIDSpecificOperation: CustomStringConvertible {
  public var description: String { "DunlinReadTransactionPendingIDSpecificOperation(\(collection), \(id))" }
}

extension DunlinWriteTransactionPendingCursorOperation: CustomStringConvertible {
  public var description: String { "DunlinWriteTransactionPendingCursorOperation(\(finding.place))" }
}

extension DunlinWriteTransactionPendingIDSpecificOperation: CustomStringConvertible {
  public var description: String {
    "DunlinWriteTransactionPendingIDSpecificOperation(\(operations.name), \(id))"
  }
}

extension Finding {
  /// The collection and the query, without the values of arguments.
  fileprivate var place: String { "\(collection): \(text)" }
}

// MARK: - Transactions

extension DunlinTransaction: CustomStringConvertible {
  public var description: String {
    let kind =
      switch access {
      case .writing: "read and write"
      case .reading: "read only"
      }
    return "DunlinTransaction(\(kind)\(hint.map { ", \($0)" } ?? ""))"
  }
}

extension DunlinScopedTransaction: CustomStringConvertible {
  public var description: String { "DunlinScopedTransaction(\(collectionName))" }
}

extension DunlinBlockingTransaction: CustomStringConvertible {
  public var description: String {
    self is DunlinReadTransaction
      ? "DunlinReadTransaction(read only)" : "DunlinWriteTransaction(read and write)"
  }
}

extension DunlinScopedReadTransaction: CustomStringConvertible {
  public var description: String { "DunlinScopedReadTransaction(\(collectionName))" }
}

extension DunlinScopedWriteTransaction: CustomStringConvertible {
  public var description: String { "DunlinScopedWriteTransaction(\(collectionName))" }
}

// MARK: - Results that arrive later

extension DunlinDiffs: CustomStringConvertible {
  public var description: String { "DunlinDiffs(\(statement))" }
}

extension DunlinTypedDiffs: CustomStringConvertible {
  public var description: String { "DunlinTypedDiffs<\(Item.self)>(\(diffs.statement))" }
}

extension DunlinRows: CustomStringConvertible {
  public var description: String { "DunlinRows<\(Element.self)>(\(prepared.text))" }
}

extension DunlinMutableDocument: CustomStringConvertible {
  public var description: String { "DunlinMutableDocument(\(id))" }
}

// MARK: - Identities

extension DunlinIdentity: CustomStringConvertible {
  public var description: String { "DunlinIdentity(\(proof.name) of \(appID))" }
}

#if TLS
  extension DunlinAuthority: CustomStringConvertible {
    public var description: String {
      "DunlinAuthority(\(isIntermediate ? "intermediate of " : "")\(appID), until \(validUntil.timeText))"
    }
  }

  extension DunlinAuthenticator: CustomStringConvertible {
    public var description: String {
      "DunlinAuthenticator(\(status.isAuthenticated ? "logged in" : "not logged in"))"
    }
  }

  extension DunlinLoginRequest: CustomStringConvertible {
    public var description: String {
      "DunlinLoginRequest(\(provider) for \(appID), device key \(deviceKey))"
    }
  }
#endif
