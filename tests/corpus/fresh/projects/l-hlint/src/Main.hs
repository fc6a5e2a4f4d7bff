module Main where

import Data.List

main :: IO ()
main = do
  putStrLn (concat (map show [1, 2]))
  if null xs == False then return () else print (length xs > 0)
  where xs = [1]
