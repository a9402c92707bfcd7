#if Server
  import CRDTCore
  import DunlinFeed
  import Foundation
  import Hummingbird

  /// Which versions a client requests.
  struct HistoryQuery {
    /// `nil` means the versions of all documents.
    private(set) var id: DocumentID?
    /// The time of the one version that is requested; `nil` for a list.
    private(set) var moment: UInt64?
    private(set) var place = HistoryPlace(time: 0, count: 0)
    private(set) var end = UInt64.max
    private(set) var limit = 100

    private static let limits = 1...1_000
    /// The maximum length of a time, in bytes.
    private static let timeBytes = 64

    /// Reads the parameters `id`, `at`, `from`, `to`, `limit` and `cursor` of an address.
    ///
    /// - Throws: `Problem`.
    init(_ request: Request) throws {
      let parameters = try QueryParameters(request)
      for (name, text) in parameters.all {
        switch name {
        case "id": id = try Self.id(text)
        case "at": moment = try Self.time(text, name)
        case "from": place = HistoryPlace(time: try Self.time(text, name), count: 0)
        case "to": end = try Self.time(text, name)
        case "limit":
          guard let number = Int(text), Self.limits.contains(number) else {
            throw Self.wrong(
              name, "must be a number from \(Self.limits.lowerBound) to \(Self.limits.upperBound)")
          }
          limit = number
        case "cursor": break
        default: throw Problem.request("there is no parameter \(name) here")
        }
      }
      if let text = parameters["cursor"] { place = try Self.place(text) }
      if moment != nil, id == nil { throw Self.wrong("at", "needs an id") }
    }

    /// Reads the parameter `id`, which there must be, and no other one.
    ///
    /// - Throws: `Problem`.
    static func onlyID(_ request: Request) throws -> DocumentID {
      let parameters = try QueryParameters(request)
      try parameters.check(only: ["id"])
      guard let text = parameters["id"] else { throw Problem.request("the parameter id is missing") }
      return try id(text)
    }

    private static func wrong(_ name: String, _ what: String) -> Problem {
      Problem(.unprocessableContent, "argument", "the parameter \(name) \(what)")
    }

    /// A JSON value; any other text is a string.
    private static func id(_ text: String) throws -> DocumentID {
      do {
        return try DocumentID((try? JSON.parse(text)) ?? .string(text))
      } catch {
        throw wrong("id", "is no id of a document")
      }
    }

    /// Milliseconds since 1970, or a time such as `2026-01-31T12:00:00Z`.
    private static func time(_ text: String, _ name: String) throws -> UInt64 {
      guard text.utf8.count <= timeBytes else { throw wrong(name, "has at most \(timeBytes) bytes") }
      if let milliseconds = UInt64(text) { return milliseconds }
      let styles = [Date.ISO8601FormatStyle(includingFractionalSeconds: true), Date.ISO8601FormatStyle()]
      for style in styles {
        if let date = try? style.parse(text), date.timeIntervalSince1970 >= 0 {
          return UInt64((date.timeIntervalSince1970 * 1_000).rounded())
        }
      }
      throw wrong(name, "must be milliseconds since 1970, or a time such as 2026-01-31T12:00:00Z")
    }

    private static func cursor(_ place: HistoryPlace) -> String { "\(place.time)-\(place.count)" }

    private static func place(_ text: String) throws -> HistoryPlace {
      let parts = text.split(separator: "-", maxSplits: 1)
      guard parts.count == 2, let time = UInt64(parts[0]), let count = UInt32(parts[1]) else {
        throw wrong("cursor", "is none that an answer had")
      }
      let place = HistoryPlace(time: time, count: count)
      // Each position has exactly one text.
      guard cursor(place).utf8.elementsEqual(text.utf8) else {
        throw wrong("cursor", "is none that an answer had")
      }
      return place
    }

    /// Reads the versions, as the members of a response.
    ///
    /// - Throws: What reading the store throws.
    func fields(_ history: HistoryKeeper, _ collection: String) throws -> [TextKey: Value] {
      if let id, let moment {
        let (version, knownFrom) = try history.version(of: id, in: collection, at: moment)
        return [
          "versions": .array(version.map { [Value.map($0.object)] } ?? []),
          "knownFrom": knownFrom.map { .int(Int64(clamping: $0)) } ?? .null,
        ]
      }
      let page =
        if let id {
          try history.versions(of: id, in: collection, from: place, through: end, limit: limit)
        } else {
          try history.versions(in: collection, from: place, through: end, limit: limit)
        }
      var fields: [TextKey: Value] = ["versions": .array(page.versions.map { .map($0.object) })]
      if let next = page.next { fields["cursor"] = .string(Self.cursor(next)) }
      return fields
    }
  }
#endif
