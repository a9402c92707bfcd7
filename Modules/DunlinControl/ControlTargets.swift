import CRDTCore
import DocStore
import Transports

/// An open database of a server, which a control socket of the server answers for.
package struct ControlledApplication: Sendable {
  /// The id by which requests choose it.
  package let id: String
  let database: any ControlledDatabase
  /// Reports the progress of the database's indexes.
  let control: ControlSocket

  /// Makes one of its values.
  ///
  /// - Parameters:
  ///   - id: The id by which requests choose it.
  ///   - database: The database.
  ///   - control: The socket that hears of the database's indexes; it need not be open.
  package init(id: String, database: any ControlledDatabase, control: ControlSocket) {
    (self.id, self.database, self.control) = (id, database, control)
  }
}

/// The databases that the requests of one control socket may work on.
protocol ControlTargets: Sendable {
  /// The first message to each client.
  var greeting: [TextKey: Value] { get }

  /// What carries out a request.
  ///
  /// - Parameter application: The application that the request chooses; `nil` if it chooses none.
  /// - Returns: The actions on its database.
  /// - Throws: `argument`, `notFound`.
  func actions(for application: String?) throws(ControlError) -> ControlActions
}

/// The only database of a peer.
struct SoleTarget: ControlTargets {
  let actions: ControlActions

  var greeting: [TextKey: Value] { ControlProtocol.greeting(actions.database.release) }

  func actions(for application: String?) throws(ControlError) -> ControlActions {
    guard application == nil else {
      throw ControlError(.argument, "a request chooses no application here, as this peer has one")
    }
    return actions
  }
}

/// The applications of a server.
struct ServerTargets: ControlTargets {
  let release: String
  let applications: @Sendable () -> [ControlledApplication]

  var greeting: [TextKey: Value] {
    let all = applications().map { application -> Value in
      .map(["id": .string(application.id), "store": .string(application.database.store.path)])
    }
    return ControlProtocol.greeting(release).merging(["applications": .array(all)]) { $1 }
  }

  func actions(for id: String?) throws(ControlError) -> ControlActions {
    let all = applications()
    let names = all.map(\.id).joined(separator: ", ")
    guard let id else {
      guard all.count == 1 else {
        throw ControlError(
          .argument, PlainText.of("a request needs the \"application\", as there are several: \(names)"))
      }
      return all[0].actions
    }
    guard let application = all.first(where: { $0.id == id }) else {
      throw ControlError(.notFound, PlainText.of("there is no application '\(id)'; there are \(names)"))
    }
    return application.actions
  }
}

extension ControlledApplication {
  fileprivate var actions: ControlActions { ControlActions(database: database, control: control) }
}

extension ControlProtocol {
  fileprivate static func greeting(_ release: String) -> [TextKey: Value] {
    ["dunlin": .string(release), "protocol": .count(version)]
  }
}
