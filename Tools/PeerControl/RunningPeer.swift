package import CRDTCore
import DunlinControl
import Foundation
import Links
import Synchronization

/// A peer that has a store open and answers over its control socket, one request at a time.
package final class RunningPeer: Sendable {
  private struct State {
    var socket: LineSocket?
    var lastID = 0
  }

  private let store: String
  /// The application of a server, for its requests; `nil` for a peer that has one.
  private let application: String?
  /// The directory in which the socket was found.
  private let directory: String
  /// Held from a request to the end of its answer.
  private let state: Mutex<State>
  /// The request at hand, which another thread may cancel.
  private let current = Mutex<(socket: LineSocket, id: Int)?>(nil)
  /// How many seconds a peer may take to say that it is there.
  private static let patience = 30
  /// How many directories above a store are looked at for the socket of a server.
  private static let levels = 3

  private init(_ store: String, _ found: Found) {
    self.store = store
    (application, directory) = (found.application, found.directory)
    state = Mutex(State(socket: found.socket))
  }

  /// A socket that answers for a store.
  private struct Found {
    let socket: LineSocket
    let directory: String
    var application: String?
  }

  /// An application of a server, as its greeting has it.
  package struct Application: Sendable {
    /// The id by which requests choose it.
    package let id: String
    /// The directory of its store.
    package let store: String
  }

  /// Connects to the peer that has a store open.
  ///
  /// The socket of a peer is in the store's directory. That of a server is in its data directory, which is
  /// above the stores; the data directory may be given as well.
  ///
  /// - Parameters:
  ///   - store: The directory of the store, or the data directory of a server.
  ///   - application: The application of the server; `nil` for the only one, or for the one of the store.
  /// - Returns: `nil` where no peer answers.
  /// - Throws: `PeerError` for a socket of another user, for a peer that speaks an unknown protocol, and for
  ///   a server with several applications of which none is chosen.
  package static func of(store: String, application: String? = nil) throws -> RunningPeer? {
    try find(store, application).map { RunningPeer(store, $0) }
  }

  /// The applications of the server that runs with a data directory.
  ///
  /// - Parameter directory: The data directory.
  /// - Returns: `nil` where no server answers.
  /// - Throws: As ``of(store:application:)``.
  package static func applications(in directory: String) throws -> [Application]? {
    try connect(directory, directory)?.applications
  }

  private static func find(_ store: String, _ application: String?) throws -> Found? {
    if let (socket, applications) = try connect(store, store) {
      guard let applications else {
        guard application == nil else {
          throw PeerError("\(store): the peer that has it open is no server, and has one application")
        }
        return Found(socket: socket, directory: store)
      }
      let id = try choose(application, of: applications, store)
      return Found(socket: socket, directory: store, application: id)
    }
    // The store of a server, whose socket is in a directory above.
    guard application == nil, let path = realPath(store) else { return nil }
    var directory = path[...]
    for _ in 0..<levels {
      guard let end = directory.lastIndex(of: "/"), end > directory.startIndex else { return nil }
      directory = directory[..<end]
      // What else listens above a store, such as a program of another user, is not this store's peer.
      guard let (socket, applications) = try? connect(String(directory), store),
        let own = applications?.first(where: { realPath($0.store) == path })
      else { continue }
      return Found(socket: socket, directory: String(directory), application: own.id)
    }
    return nil
  }

  private static func choose(
    _ id: String?, of applications: [Application], _ directory: String
  ) throws -> String {
    let ids = applications.map(\.id).joined(separator: ", ")
    guard let id else {
      guard applications.count == 1 else {
        throw PeerError(
          "\(directory): the server has several applications: say which with --application: \(ids)")
      }
      return applications[0].id
    }
    guard applications.contains(where: { $0.id == id }) else {
      throw PeerError("\(directory): the server has no application \(id); it has \(ids)")
    }
    return id
  }

  private static func realPath(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }

  /// Connects to the socket in a directory.
  ///
  /// - Returns: The connection, and the applications if a server answers; `nil` where nobody does.
  private static func connect(
    _ directory: String, _ store: String
  ) throws -> (socket: LineSocket, applications: [Application]?)? {
    let socket = ControlProtocol.socket(in: directory)
    guard let descriptor = try descriptor(of: socket) ?? socket.substitute.flatMap({ try descriptor(of: $0) })
    else { return nil }
    let lines = LineSocket(descriptor)
    lines.setPatience(seconds: patience)
    let first: [UInt8]?
    do {
      first = try lines.next()
    } catch is PeerIsSilent {
      throw PeerError(
        "\(store): the peer that has it open has not answered within \(patience) s; it is stopped or overloaded: let it go on, or end it, and try again"
      )
    }
    // A peer that closes meanwhile says nothing.
    guard let line = first else { return nil }
    lines.setPatience(seconds: 0)
    let greeting = try ControlProtocol.message(line)
    if let error = greeting.members("error") { throw ControlError(error) }
    guard let version = greeting.integer("protocol") else {
      throw PeerError("\(store): what answers at its control socket is no peer")
    }
    guard version == ControlProtocol.version else {
      throw PeerError(
        "\(store): the peer that has it open speaks version \(version) of the control protocol, and this command \(ControlProtocol.version): use the dunlin of that release"
      )
    }
    return (lines, Application.all(in: greeting))
  }

  private static func descriptor(of socket: LocalSocket) throws -> Int32? {
    do throws(LinkError) {
      return try socket.connect()
    } catch {
      // A path that is too long for a socket has none.
      guard error.code != .unreachable else { return nil }
      throw PeerError(error.message)
    }
  }

  // MARK: - Requests

  /// Asks for something, and waits for the end of the answer.
  ///
  /// - Parameters:
  ///   - action: What to do.
  ///   - fields: What it needs.
  ///   - take: Takes the parts of the answer before its end; what it throws cancels the request.
  /// - Returns: The end of the answer.
  /// - Throws: `ControlError` with the peer's reason; `PeerError` when the peer has gone; what `take` throws.
  @discardableResult
  package func ask(
    _ action: String, _ fields: [TextKey: Value] = [:],
    _ take: ([TextKey: Value]) throws -> Void = { _ in }
  ) throws -> [TextKey: Value] {
    try ask([fields.merging(["do": .string(action)]) { $1 }], take)
  }

  /// Asks for something in several lines, which get the request's number.
  package func ask(
    _ lines: [[TextKey: Value]], _ take: ([TextKey: Value]) throws -> Void = { _ in }
  ) throws -> [TextKey: Value] {
    try state.withLock { state in
      let socket = try connected(&state)
      state.lastID += 1
      let id = state.lastID
      current.withLock { $0 = (socket, id) }
      defer { current.withLock { $0 = nil } }
      do {
        for (index, line) in lines.enumerated() {
          var line = line
          line["id"] = .count(id)
          // What follows the first line belongs to its request.
          if index == 0, let application { line["application"] = .string(application) }
          try socket.write(ControlProtocol.line(line))
        }
      } catch {
        // A peer that closes the connection has said why.
        return try lastWords(about: id, socket, error)
      }
      return try answer(to: id, socket, take)
    }
  }

  private func connected(_ state: inout State) throws -> LineSocket {
    if let socket = state.socket, !socket.isOver { return socket }
    // Who is idle for long is disconnected.
    state.socket = nil
    guard let (socket, _) = try Self.connect(directory, store) else {
      throw PeerError("\(store): the peer that had it open has closed it")
    }
    state.socket = socket
    return socket
  }

  /// What a peer has said that takes no more.
  private func lastWords(
    about id: Int, _ socket: LineSocket, _ error: any Error
  ) throws -> [TextKey: Value] {
    do {
      return try answer(to: id, socket) { _ in }
    } catch let said as ControlError {
      throw said
    } catch _ {
      throw error
    }
  }

  private func answer(
    to id: Int, _ socket: LineSocket, _ take: ([TextKey: Value]) throws -> Void
  ) throws -> [TextKey: Value] {
    var failure: (any Error)?
    while let line = try socket.next() {
      let message = try ControlProtocol.message(line)
      let error = message.members("error").map { ControlError($0) }
      guard message.integer("id") == id else {
        // What is about no request is about the connection.
        if message["id"] == nil, let error { throw failure ?? error }
        continue
      }
      if let result = message.members("result") {
        if let failure { throw failure }
        return result
      }
      if let error { throw failure ?? error }
      guard failure == nil else { continue }
      do {
        try take(message)
      } catch {
        failure = error
        cancel()
      }
    }
    throw failure ?? PeerError("\(store): the peer that has it open has ended the connection")
  }

  /// Ends the request at hand soon, from any thread.
  package func cancel() {
    let request = current.withLock { $0 }
    guard let (socket, id) = request else { return }
    // A peer that has gone need not be told.
    try? socket.write(ControlProtocol.line(["cancel": .count(id)]))
  }
}

extension RunningPeer.Application {
  /// Reads a greeting.
  ///
  /// - Returns: `nil` for that of a peer that has one database.
  fileprivate static func all(in greeting: [TextKey: Value]) -> [Self]? {
    guard case .array(let values)? = greeting["applications"] else { return nil }
    return values.compactMap { value in
      guard case .map(let fields) = value, let id = fields.string("id"), let store = fields.string("store")
      else { return nil }
      return Self(id: id, store: store)
    }
  }
}

extension [TextKey: Value] {
  /// Passes on what a part of an answer says of progress.
  package func passProgress(to take: (_ done: Int, _ total: Int) throws -> Void) rethrows {
    guard let progress = members("progress"), let done = progress.integer("done"),
      let total = progress.integer("total")
    else { return }
    try take(done, total)
  }
}
