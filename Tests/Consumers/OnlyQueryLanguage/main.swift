import CRDTCore
import QueryLanguage

// Statements without a store: parsed, printed, and tested on one document.

let statement = try DQL.parse("SELECT * FROM flights WHERE origin = 'JFK' AND delay > 0")
guard case .select(let select) = statement else { fatalError("a SELECT must be one") }
precondition(select.source.collection == "flights")
let predicate = try Builder.parse("origin == 'JFK' && delay > 0")
precondition(predicate == select.predicate)

let late = try SubscriptionQuery(dql: "SELECT * FROM flights WHERE delay > 0")
precondition(late.collection == "flights")

do {
  _ = try DQL.parse("SELECT * FORM flights")
  fatalError("a mistake must be told")
} catch {
  precondition(error.code == .syntax)
}

print("QueryLanguage alone: ok")
