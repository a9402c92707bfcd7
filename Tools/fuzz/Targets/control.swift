// with: Modules/DunlinControl/Requests
import CRDTCore

/// Reads any bytes as a line of a client of the control socket.
///
/// The line is refused with a reason, or is a request of which every field is checked.
enum Target {
  static let seeds: [[UInt8]] = [
    #"{"id":1,"do":"query","query":"SELECT * FROM cars WHERE km > :m","arguments":{"m":{"$counter":3}}}"#,
    #"{"id":2,"do":"watch","query":"SELECT * FROM cars","arguments":{},"limit":10}"#,
    #"{"id":3,"do":"insert","collection":"cars","strategy":"insertIfAbsent","documents":[{"_id":1}],"more":true}"#,
    #"{"id":3,"documents":[{"_id":{"$bytes":"AQI="},"x":{"$double":"nan"}},7],"more":false}"#,
    #"{"id":4,"do":"evict","collection":"cars","document":"hex:0363"}"#, #"{"id":5,"do":"statistics"}"#,
    #"{"id":6,"do":"erase","collection":"cars","ids":["a"]}"#,
    #"{"id":6,"do":"collections"}"#, #"{"id":7,"do":"schema","collection":"cars","documents":100}"#,
    #"{"id":8,"do":"inspect","collection":null,"document":null}"#, #"{"id":9,"do":"verify"}"#,
    #"{"id":10,"do":"backup","target":"/tmp/copy"}"#,
    #"{"id":13,"do":"addBackup","series":"/tmp/series","asBase":true}"#, #"{"id":11,"do":"status"}"#,
    #"{"id":14,"do":"ask","query":"SELECT * FROM cars","peer":"tablet"}"#,
    #"{"id":12,"do":"why","collection":"cars","document":"c1","peer":"tablet","isIncoming":true}"#,
    #"{"cancel":1}"#,
  ].map { Array($0.utf8) }

  static func run(_ input: [UInt8]) {
    do throws(ControlError) {
      let message = try ControlProtocol.message(input)
      // What is written of a message is read again as it was.
      let line = ControlProtocol.line(message)
      precondition(line.firstIndex(of: 0x0A) == line.count - 1, "a message takes more than its line")
      let again = try ControlProtocol.message(Array(line.dropLast()))
      precondition(ControlProtocol.line(again) == line, "another message")
      switch try ControlLine(message) {
      case .cancel(let id): precondition(message["cancel"] == .int(Int64(id)), "another request")
      case .documents(let id, let documents, _):
        precondition(message["id"] == .int(Int64(id)) && isSame(message["documents"], .array(documents)))
      case .request(let request, let documents, let isLast):
        precondition(message["id"] == .int(Int64(request.id)), "another request")
        check(request.action, message)
        if case .insert = request.action { return }
        precondition(documents.isEmpty && isLast, "documents of a request that takes none")
      }
    } catch {
      precondition(!error.message.isEmpty, "refused without a reason")
    }
  }

  /// Whether two values are written alike: a number that is none equals nothing.
  private static func isSame(_ one: Value?, _ other: Value) -> Bool {
    one.map { ControlProtocol.line(["a": $0]) == ControlProtocol.line(["a": other]) } ?? false
  }

  /// Checks that an action has exactly the message's values, and that none was ignored for its type.
  private static func check(_ action: ControlRequest.Action, _ message: [TextKey: Value]) {
    func isText(_ name: TextKey, _ text: String?) -> Bool {
      message[name] ?? .null == text.map { .string($0) } ?? .null
    }
    func isMap(_ name: TextKey, _ map: [TextKey: Value]) -> Bool {
      isSame(message[name], .map(map)) || map.isEmpty && message[name] ?? .null == .null
    }
    switch action {
    case .query(let query, let arguments):
      precondition(isText("query", query) && isMap("arguments", arguments))
    case .ask(let query, let arguments, let peer):
      precondition(isText("query", query) && isMap("arguments", arguments) && isText("peer", peer))
    case .watch(let query, let arguments, let limit):
      precondition(isText("query", query) && isMap("arguments", arguments) && limit >= 0)
    case .insert(let collection, _): precondition(isText("collection", collection))
    case .evict(let collection, let document):
      precondition(isText("collection", collection) && isText("document", document))
    case .schema(let collection, let documents):
      precondition(isText("collection", collection) && documents ?? 0 >= 0)
    case .inspect(let collection, let document):
      precondition(isText("collection", collection) && isText("document", document))
    case .backup(let target): precondition(isText("target", target))
    case .addBackup(let series, _): precondition(isText("series", series))
    case .why(let collection, let document, let peer, _):
      precondition(isText("collection", collection) && isText("document", document) && isText("peer", peer))
    case .clock(let isTrusted): precondition((message["trust"] == .bool(true)) == isTrusted)
    case .statistics, .collections, .verify, .status: break
    }
  }
}

/// What stands in for types of the control module, which is not built here.
package enum ControlProtocol {}

package struct ControlError: Error {
  enum Code { case argument, syntax }

  let code: Code
  let message: String

  init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }
}
